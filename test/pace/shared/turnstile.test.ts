import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSharedTurnstile } from '../../../src/pace/shared/turnstile.ts';
import { openState, passed } from './states.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CALL_MS = 20;

describe('the shared turnstile', () => {
  it('lets a caller in who comes when no call is under way any more, however soon', async () => {
    const keptOut: string[] = [];
    for (let busyMs = 200; busyMs < 400; busyMs += 10) {
      for (let restMs = 5; restMs < 400; restMs += 40) {
        if (!(await isLetIn({ busyMs, restMs }))) keptOut.push(`${restMs} after ${busyMs} ms`);
      }
    }
    expect(keptOut).toEqual([]);
  });
});

/** Whether somebody who comes a while after the last call still gets in. */
async function isLetIn({ busyMs, restMs }: { busyMs: number; restMs: number }): Promise<boolean> {
  const turnstile = createSharedTurnstile({
    stored: openState(),
    worker: 'a',
    callers: 16,
    maxOutageMs: 3_600_000,
    onOutageTooLong: () => {},
    clock: { nowMs: () => Date.now(), sleep: async () => {} },
    random: () => 0.5,
  });
  const call = async (): Promise<void> => {
    await turnstile.enter(new AbortController().signal);
    const sentAtMs = Date.now();
    await passed(CALL_MS);
    turnstile.report({ kind: 'accepted', sentAtMs });
  };
  const endMs = Date.now() + busyMs;
  let busy = 4;
  const callUntilEnd = async (): Promise<void> => {
    while (Date.now() < endMs) await call();
    busy -= 1;
  };
  for (let caller = 0; caller < 4; caller += 1) void callUntilEnd();
  while (busy > 0) await vi.advanceTimersByTimeAsync(1);
  await vi.advanceTimersByTimeAsync(restMs);
  let isIn = false;
  void call().then(() => {
    isIn = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  const closed = turnstile.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  return isIn;
}
