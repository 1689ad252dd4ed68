import { getEventListeners, setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock } from '../../../src/pace/clock.ts';
import { type Rate } from '../../../src/pace/rate.ts';
import {
  createSharedRateLimiter,
  type SharedRateLimiter,
} from '../../../src/pace/shared/rate-limiter.ts';
import { type StoredState } from '../../../src/pace/shared/state.ts';
import { openState, passed, type Surroundings } from './states.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CALL_MS = 20;

describe('the shared limiter', () => {
  it('lets a caller in who comes when no call is under way any more, however soon', async () => {
    const keptOut: string[] = [];
    for (let busyMs = 200; busyMs < 400; busyMs += 30) {
      for (let restMs = 5; restMs < 400; restMs += 40) {
        if (!(await isLetIn({ busyMs, restMs }))) keptOut.push(`${restMs} after ${busyMs} ms`);
      }
    }
    expect(keptOut).toEqual([]);
  });

  it.each([1, 2, 3])('comes to speed with workers of one caller each: %i', async (workers) => {
    const stored = openState();
    let calls = 0;
    const limiters = Array.from({ length: workers }, (_, at) => open(stored, `w${at}`, 1));
    for (const limiter of limiters) {
      void (async () => {
        for (;;) {
          await call(limiter);
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

describe('a shared limiter that is closed', () => {
  it.each([
    ['a caller waits for its start', 10, 1],
    ['all are through', 1_000, 0],
  ])('leaves no timer and no listener of its own behind: %s', async (_, passedMs, waiting) => {
    const limiter = open(openState(), 'w0', 4, { count: 20, perMs: 1_000 });
    const stop = new AbortController();
    const entering = [limiter.acquire(stop.signal), limiter.acquire(stop.signal)];
    const ended = Promise.allSettled(entering);
    await vi.advanceTimersByTimeAsync(passedMs);
    let isClosed = false;
    const closed = limiter.close().then(() => {
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
    const limiter = open(stored, 'w0', 1);
    const startMs = Date.now();
    let heldMs = 0;
    void (async () => {
      for (;;) heldMs += await refused(limiter);
    })();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(heldMs).toBeGreaterThan(0.9 * (Date.now() - startMs));
    expect(limiter.describe()).toMatchObject({ why: 'backing_off' });
    const other = open(stored, 'w1', 1);
    void other.acquire(new AbortController().signal);
    await vi.advanceTimersByTimeAsync(300);
    const { onlyThrottledMs } = other.describe();
    expect(onlyThrottledMs).toBeGreaterThan(590_000);
  });
});

async function refused(limiter: SharedRateLimiter): Promise<number> {
  await limiter.acquire(new AbortController().signal);
  const sentAtMs = Date.now();
  await passed(CALL_MS);
  return limiter.release({ kind: 'throttled', sentAtMs });
}

function open(
  stored: StoredState,
  worker: string,
  callers: number,
  rate?: Rate,
): SharedRateLimiter {
  return createSharedRateLimiter({
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

async function call(limiter: SharedRateLimiter): Promise<void> {
  await limiter.acquire(new AbortController().signal);
  const sentAtMs = Date.now();
  await passed(CALL_MS);
  limiter.release({ kind: 'accepted', sentAtMs });
}

/** Whether somebody who comes a while after the last call still gets in. */
async function isLetIn({ busyMs, restMs }: { busyMs: number; restMs: number }): Promise<boolean> {
  const limiter = open(openState(), 'a', 16);
  const endMs = Date.now() + busyMs;
  let busy = 4;
  const callUntilEnd = async (): Promise<void> => {
    while (Date.now() < endMs) await call(limiter);
    busy -= 1;
  };
  for (let caller = 0; caller < 4; caller += 1) void callUntilEnd();
  while (busy > 0) await vi.advanceTimersByTimeAsync(1);
  await vi.advanceTimersByTimeAsync(restMs);
  let isIn = false;
  void call(limiter).then(() => {
    isIn = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  const closed = limiter.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  return isIn;
}

const MINUTE_MS = 60_000;
const CLOCK = { nowMs: () => Date.now(), sleep: async () => {} };

interface Workplace {
  readonly limiter: SharedRateLimiter;
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
  const limiter = createSharedRateLimiter({
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
      await limiter.acquire(stop.signal);
      const sentAtMs = clock.nowMs();
      sentMs.push(sentAtMs);
      await passed(20);
      const isFailure = isDown();
      limiter.reportHealth({ sentAtMs, isFailure });
      limiter.release({ kind: isFailure ? 'failed' : 'accepted', sentAtMs });
    }
  };
  for (let caller = 0; caller < callers; caller += 1) work().catch(() => {});
  return {
    limiter,
    sentMs,
    tooLong,
    stop: async () => {
      stop.abort();
      const closed = limiter.close();
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
    for (let writeMs = 1; writeMs < 200; writeMs += 23) await expectRecovery({ writeMs });
  });

  it('is over with the first good probe, though it may be due between two looks at the clock', async () => {
    for (let lookMs = 0.01; lookMs < 1; lookMs += 0.21) await expectRecovery({ lookMs });
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
  told?.limiter.release({
    kind: 'throttled',
    sentAtMs: CLOCK.nowMs(),
    retryAfterMs: 60 * MINUTE_MS,
  });
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  const { why, statedMs = 0 } = other?.limiter.describe() ?? {};
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
  const { limiter, sentMs, stop } = startWorker(openState(around), {
    isDown: () => isDown,
    clock,
  });
  await vi.advanceTimersByTimeAsync(1_000);
  isDown = true;
  const context = JSON.stringify(around);
  // Where the state takes long to be written, calls are few, and twenty tell of an outage.
  const openInMs = await waitUntil(() => limiter.outage.phase === 'open');
  expect(openInMs, context).toBeLessThan(10_000);
  isDown = false;
  const before = sentMs.length;
  await vi.advanceTimersByTimeAsync(6_500); // the first probe comes after 5 s
  expect(sentMs.length, context).toBeGreaterThan(before);
  expect(['recovering', 'closed'], context).toContain(limiter.outage.phase);
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
