import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../../src/pace/clock.ts';
import type { StoredState } from '../../../src/pace/shared/state.ts';
import { createSharedTurnstile, type SharedTurnstile } from '../../../src/pace/shared/turnstile.ts';
import { openState, passed, type Surroundings } from './states.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const MINUTE_MS = 60_000;
const CLOCK = { nowMs: () => Date.now(), sleep: async () => {} };

interface Workplace {
  readonly turnstile: SharedTurnstile;
  /** When calls were sent. */
  readonly sentMs: number[];
  readonly tooLong: { count: number };
  stop(): Promise<void>;
}

/** A worker with callers that never rest; its calls take 20 ms. */
function startWorker(
  stored: StoredState,
  {
    isDown,
    maxOutageMs = 60 * MINUTE_MS,
    clock = CLOCK,
  }: { isDown: () => boolean; maxOutageMs?: number; clock?: Clock },
): Workplace {
  const callers = 16;
  const tooLong = { count: 0 };
  const sentMs: number[] = [];
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const turnstile = createSharedTurnstile({
    stored,
    worker: crypto.randomUUID(),
    callers,
    maxOutageMs,
    onOutageTooLong: () => {
      tooLong.count += 1;
      stop.abort();
    },
    clock,
  });
  const work = async (): Promise<void> => {
    for (;;) {
      await turnstile.enter(stop.signal);
      const sentAtMs = clock.nowMs();
      sentMs.push(sentAtMs);
      await passed(20);
      const isFailure = isDown();
      turnstile.reportHealth({ sentAtMs, isFailure });
      turnstile.report({ kind: isFailure ? 'failed' : 'accepted', sentAtMs });
    }
  };
  for (let caller = 0; caller < callers; caller += 1) work().catch(() => {});
  return {
    turnstile,
    sentMs,
    tooLong,
    stop: async () => {
      stop.abort();
      const closed = turnstile.close();
      await vi.advanceTimersByTimeAsync(2_000);
      await closed;
    },
  };
}

describe('an outage that workers share', () => {
  it('is over with the first good probe, though clocks seem to go to and fro', async () => {
    await expectRecovery({ readMs: jitter() });
  });

  it('is over with the first good probe, however long the state takes to be written', async () => {
    for (let writeMs = 1; writeMs < 200; writeMs += 9) await expectRecovery({ writeMs });
  });

  it('is over with the first good probe, though it may be due between two looks at the clock', async () => {
    for (let lookMs = 0.01; lookMs < 1; lookMs += 0.07) await expectRecovery({ lookMs });
  });

  it('is waited for by a worker that comes late as long as by others', async () => {
    const stored = openState();
    const downFromMs = Date.now() + 1_000;
    const isDown = (): boolean => Date.now() > downFromMs;
    const first = startWorker(stored, { isDown, maxOutageMs: 8_000 });
    await vi.advanceTimersByTimeAsync(12_000);
    expect(first.tooLong.count).toBeGreaterThan(0);
    await first.stop();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    const second = startWorker(stored, { isDown, maxOutageMs: 8_000 });
    await vi.advanceTimersByTimeAsync(7_000);
    expect(second.tooLong.count).toBe(0);
    expect(second.sentMs).toHaveLength(1); // the probe
    await vi.advanceTimersByTimeAsync(3_000);
    expect(second.tooLong.count).toBeGreaterThan(0);
  });
});

it('a wait that a worker is told keeps the others for a quarter of an hour at most', async () => {
  const stored = openState();
  const [told, other] = [0, 1].map(() => startWorker(stored, { isDown: () => false }));
  await vi.advanceTimersByTimeAsync(1_000);
  told?.turnstile.report({
    kind: 'throttled',
    sentAtMs: CLOCK.nowMs(),
    retryAfterMs: 60 * MINUTE_MS,
  });
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  const { why, statedMs = 0 } = other?.turnstile.describe() ?? {};
  expect(why).toBe('told_to_wait');
  // What it was told is passed on, not only what is kept of it.
  expect(statedMs).toBeCloseTo(59 * MINUTE_MS, -3);
  const sent = other?.sentMs.length;
  await vi.advanceTimersByTimeAsync(13 * MINUTE_MS);
  expect(other?.sentMs).toHaveLength(sent ?? 0);
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(other?.sentMs.length).toBeGreaterThan(sent ?? 0);
});

async function expectRecovery(around: Surroundings): Promise<void> {
  let isDown = false;
  const { lookMs = 0 } = around;
  let latestMs = 0;
  const clock: Clock = {
    ...CLOCK,
    nowMs: () => {
      latestMs = Math.max(Date.now(), latestMs + lookMs);
      return latestMs;
    },
  };
  const { turnstile, sentMs, stop } = startWorker(openState(around), {
    isDown: () => isDown,
    clock,
  });
  await vi.advanceTimersByTimeAsync(1_000);
  isDown = true;
  const context = JSON.stringify(around);
  // Where the state takes long to be written, calls are few, and twenty tell of an outage.
  const openInMs = await waitUntil(() => turnstile.outage.phase === 'open');
  expect(openInMs, context).toBeLessThan(10_000);
  isDown = false;
  const before = sentMs.length;
  await vi.advanceTimersByTimeAsync(6_500); // the first probe comes after 5 s
  expect(sentMs.length, context).toBeGreaterThan(before);
  expect(['recovering', 'closed'], context).toContain(turnstile.outage.phase);
  await stop();
}

/** How long it took, in the fake time; half a minute when it never was. */
async function waitUntil(isSo: () => boolean): Promise<number> {
  let ms = 0;
  for (; ms < MINUTE_MS / 2 && !isSo(); ms += 100) await vi.advanceTimersByTimeAsync(100);
  return ms;
}

/** Each answer takes a little longer than the one before, and now and then none does. */
function jitter(): () => number {
  let ms = 0;
  return () => {
    ms = (ms + 3) % 10;
    return ms;
  };
}
