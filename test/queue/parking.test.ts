import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../src/calls/lookup-queue.ts';
import type { Outcome } from '../../src/calls/outcome.ts';
import { askAgain, Parking, type Pending } from '../../src/queue/parking.ts';
import { createVirtualClock } from '../simulation/virtual-time.ts';
import { outcomeOf } from '../store/outcomes.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** When a lookup that stays pending is asked, in seconds after its first answer. */
function asksOf({ retryAfterMs, maxPendingMs = 10 * MINUTE_MS }: PendingAnswer): number[] {
  const asked: number[] = [];
  for (let pending: Pending | undefined; ; ) {
    const nowMs: number = pending?.dueMs ?? 0;
    pending = askAgain(pending, { retryAfterMs }, { nowMs, maxPendingMs });
    if (!pending) return asked;
    asked.push(pending.dueMs / SECOND_MS);
  }
}

interface PendingAnswer {
  readonly retryAfterMs?: number;
  readonly maxPendingMs?: number;
}

describe('a pending lookup', () => {
  it('is asked after 15, 30, 60, 120 s and so on, and a last time at the end', () => {
    expect(asksOf({})).toEqual([15, 45, 105, 225, 465, 600]);
  });

  it('is asked when the API says', () => {
    expect(asksOf({ retryAfterMs: 4 * MINUTE_MS })).toEqual([240, 480]);
  });

  it('is not asked before the time that the API says', () => {
    expect(asksOf({ retryAfterMs: 11 * MINUTE_MS })).toEqual([]);
  });

  it('is asked once a second at most', () => {
    expect(asksOf({ retryAfterMs: 0, maxPendingMs: 3_500 })).toEqual([1, 2, 3]);
  });

  it('is not asked again when it may not be pending', () => {
    expect(asksOf({ maxPendingMs: 0 })).toEqual([]);
  });
});

describe('the pending lookups of a run', () => {
  it('are given out again when they are due, and end as what comes then', async () => {
    const { advance, parking, given, collected, answer } = park();
    const givingOut = parking.giveOut(async (chunk) => void given.push(chunk), 10);
    await answer({ domain: 'a.com' });
    await answer({ domain: 'b.com', retryAfterMs: 40 * SECOND_MS });
    expect([parking.count, parking.untilMs]).toEqual([2, 40 * SECOND_MS]);

    await advance(15 * SECOND_MS);
    expect(given).toEqual([{ domains: ['a.com'] }]);
    await answer({ domain: 'a.com', status: 'found' });
    expect(collected).toMatchObject([{ domain: 'a.com', status: 'found' }]);

    await advance(25 * SECOND_MS);
    expect(given.at(-1)).toEqual({ domains: ['b.com'] });
    await answer({ domain: 'b.com', status: 'not_found' });
    expect(parking.count).toBe(0);
    parking.end();
    await givingOut;
  });

  it('end as pending after the longest time, with the time that the API says', async () => {
    const { advance, parking, collected, answer } = park({ maxPendingMs: MINUTE_MS });
    await answer({ domain: 'a.com', retryAfterMs: 50 * SECOND_MS });
    await advance(50 * SECOND_MS);
    await answer({ domain: 'a.com', retryAfterMs: 50 * SECOND_MS });
    expect(collected).toMatchObject([{ domain: 'a.com', status: 'pending' }]);
    expect(parking.comeBackAtMs).toBe(100 * SECOND_MS);
    expect(parking.count).toBe(0);
  });

  it('end with the run when it is stopped', async () => {
    const { advance, parking, collected, answer, stop } = park();
    const givingOut = parking.giveOut(async () => {}, 10);
    await answer({ domain: 'a.com', retryAfterMs: 5 * SECOND_MS });
    await answer({ domain: 'b.com', billedMicros: 7 });
    await advance(5 * SECOND_MS);
    stop();
    await givingOut;
    await parking.close();
    // What it cost was counted when it was parked.
    expect(collected).toMatchObject([
      { domain: 'a.com', status: 'pending' },
      { domain: 'b.com', status: 'pending', billedMicros: 0 },
    ]);
  });

  it('are not taken for asked twice when an outcome comes twice', async () => {
    const { parking, answer, stop } = park();
    await answer({ domain: 'a.com', fetchedAtMs: 7 });
    const { untilMs } = parking;
    await answer({ domain: 'a.com', fetchedAtMs: 7 });
    expect(parking.untilMs).toBe(untilMs);
    stop();
  });
});

function park(options: { readonly maxPendingMs?: number } = {}) {
  const clock = createVirtualClock();
  const stopping = new AbortController();
  const outstanding = new Set(['a.com', 'b.com']);
  const collected: Outcome[] = [];
  const given: Chunk[] = [];
  let asked = 0;
  const parking = new Parking({
    maxPendingMs: 10 * MINUTE_MS,
    ...options,
    collect: async (outcomes) => void collected.push(...outcomes),
    outstanding,
    now: clock.nowMs,
    sleep: clock.sleep,
    signal: stopping.signal,
  });
  return {
    advance: async (ms: number) => {
      const { signal } = new AbortController();
      await clock.pass(clock.sleep(ms, signal));
      await clock.pass(clock.sleep(0, signal)); // and what is due by then
    },
    parking,
    given,
    collected,
    stop: () => stopping.abort(),
    answer: async (more: Partial<Outcome>) => {
      asked += 1;
      const fetchedAtMs = clock.nowMs() + asked / 1_000;
      const pending = { status: 'pending', reason: 'http_202', attempts: 0, json: '' } as const;
      await parking.collect([outcomeOf('a.com', { ...pending, fetchedAtMs, ...more })]);
    },
  };
}
