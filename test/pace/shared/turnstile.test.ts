import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Rate } from '../../../src/pace/rate.ts';
import type { StoredState } from '../../../src/pace/shared/state.ts';
import { createSharedTurnstile, type SharedTurnstile } from '../../../src/pace/shared/turnstile.ts';
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

  it.each([1, 2, 3])('comes to speed with workers of one caller each: %i', async (workers) => {
    const stored = openState();
    let calls = 0;
    const turnstiles = Array.from({ length: workers }, (_, at) => open(stored, `w${at}`, 1));
    for (const turnstile of turnstiles) {
      void (async () => {
        for (;;) {
          await call(turnstile);
          calls += 1;
        }
      })();
    }
    await vi.advanceTimersByTimeAsync(9_000);
    const before = calls;
    await vi.advanceTimersByTimeAsync(1_000);
    // A caller can make one call after the other, 50 in a second.
    expect(calls - before).toBeGreaterThan(25 * workers);
  });
});

describe('a shared turnstile that is closed', () => {
  it.each([
    ['a caller waits for its start', 10, 1],
    ['all are through', 1_000, 0],
  ])('leaves no timer and no listener of its own behind: %s', async (_, passedMs, waiting) => {
    const turnstile = open(openState(), 'w0', 4, { count: 20, perMs: 1_000 });
    const stop = new AbortController();
    const entering = [turnstile.enter(stop.signal), turnstile.enter(stop.signal)];
    const ended = Promise.allSettled(entering);
    await vi.advanceTimersByTimeAsync(passedMs);
    let isClosed = false;
    const closed = turnstile.close().then(() => {
      isClosed = true;
    });
    while (!isClosed) await vi.advanceTimersByTimeAsync(1);
    await closed;
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(waiting);
    stop.abort('stopped');
    const reasons = (await ended).map((end) =>
      end.status === 'rejected' ? end.reason : 'through',
    );
    expect(reasons.filter((reason) => reason === 'stopped')).toHaveLength(waiting);
  });
});

describe('a worker whose calls are refused without a time', () => {
  it('is told how long it has to wait, and so is one that joins', async () => {
    const stored = openState();
    const turnstile = open(stored, 'w0', 1);
    const startMs = Date.now();
    let heldMs = 0;
    void (async () => {
      for (;;) heldMs += await refused(turnstile);
    })();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(heldMs).toBeGreaterThan(0.9 * (Date.now() - startMs));
    expect(turnstile.describe()).toMatchObject({ why: 'backing_off' });
    const other = open(stored, 'w1', 1);
    void other.enter(new AbortController().signal);
    await vi.advanceTimersByTimeAsync(300);
    const { onlyThrottledMs } = other.describe();
    expect(onlyThrottledMs).toBeGreaterThan(590_000);
  });
});

async function refused(turnstile: SharedTurnstile): Promise<number> {
  await turnstile.enter(new AbortController().signal);
  const sentAtMs = Date.now();
  await passed(CALL_MS);
  return turnstile.report({ kind: 'throttled', sentAtMs });
}

function open(stored: StoredState, worker: string, callers: number, rate?: Rate): SharedTurnstile {
  return createSharedTurnstile({
    stored,
    rate,
    worker,
    callers,
    maxOutageMs: 3_600_000,
    onOutageTooLong: () => {},
    clock: { nowMs: () => Date.now(), sleep: async () => {} },
    random: () => 0.5,
  });
}

async function call(turnstile: SharedTurnstile): Promise<void> {
  await turnstile.enter(new AbortController().signal);
  const sentAtMs = Date.now();
  await passed(CALL_MS);
  turnstile.report({ kind: 'accepted', sentAtMs });
}

/** Whether somebody who comes a while after the last call still gets in. */
async function isLetIn({ busyMs, restMs }: { busyMs: number; restMs: number }): Promise<boolean> {
  const turnstile = open(openState(), 'a', 16);
  const endMs = Date.now() + busyMs;
  let busy = 4;
  const callUntilEnd = async (): Promise<void> => {
    while (Date.now() < endMs) await call(turnstile);
    busy -= 1;
  };
  for (let caller = 0; caller < 4; caller += 1) void callUntilEnd();
  while (busy > 0) await vi.advanceTimersByTimeAsync(1);
  await vi.advanceTimersByTimeAsync(restMs);
  let isIn = false;
  void call(turnstile).then(() => {
    isIn = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  const closed = turnstile.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  return isIn;
}
