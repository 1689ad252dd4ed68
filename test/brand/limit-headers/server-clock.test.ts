import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createServerClock, type ServerClock } from '../../../src/brand/limit-headers/time.ts';

const OURS_MS = Date.UTC(2026, 10, 20, 20);

/** A server whose clock is ahead of ours by so much, asked at some times of ours. */
function ask(
  clock: ServerClock,
  aheadMs: number,
  calls: readonly {
    readonly sentMs: number;
    readonly thereMs?: number;
    readonly backMs?: number;
  }[],
): void {
  for (const { sentMs, thereMs = 10, backMs = 10 } of calls) {
    clock.note({
      sentMs: OURS_MS + sentMs,
      date: new Date(OURS_MS + sentMs + thereMs + aheadMs).toUTCString(),
      nowMs: OURS_MS + sentMs + thereMs + backMs,
    });
  }
}

/** How much earlier than it is the server's time is thought to be. */
function lateBy(clock: ServerClock, aheadMs: number, atMs: number): number {
  return OURS_MS + atMs + aheadMs - (clock.earliestMs(OURS_MS + atMs) ?? Number.NaN);
}

describe("a server's clock", () => {
  it('is unknown before there was a date', () => {
    const clock = createServerClock();
    for (const date of [undefined, '', 'soon', '2026-11-20T20:00:00Z']) {
      clock.note({ date, nowMs: OURS_MS });
    }
    expect(clock.earliestMs(OURS_MS)).toBeUndefined();
    expect(clock.soonerMs()).toBe(0);
  });

  it('shows what one answer says, or up to a second and the way back more', () => {
    const clock = createServerClock();
    ask(clock, 5_700, [{ sentMs: 0 }]);
    expect(lateBy(clock, 5_700, 20)).toBe(720);
  });

  it('may have drifted a tenth of a second in a quarter of an hour without an answer', () => {
    const clock = createServerClock();
    ask(clock, 5_700, [{ sentMs: 0 }]);
    expect(lateBy(clock, 5_700, 20 + 15 * 60_000)).toBeCloseTo(720 + 90);
  });

  it('is known to the way of an answer, when those came at all parts of a second', () => {
    const clock = createServerClock();
    const calls = Array.from({ length: 100 }, (_, at) => ({ sentMs: at * 110 }));
    ask(clock, -61_234, calls);
    expect(lateBy(clock, -61_234, 11_000)).toBeLessThan(22);
    expect(clock.soonerMs()).toBeLessThan(15);
  });

  it('is never thought to be later than it is, whatever way answers take', () => {
    const call = fc.record({
      sentMs: fc.integer({ min: 0, max: 100_000 }),
      thereMs: fc.integer({ min: 0, max: 8_000 }),
      backMs: fc.integer({ min: 0, max: 8_000 }),
    });
    fc.assert(
      fc.property(
        fc.array(call, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: -1e9, max: 1e9 }),
        (calls, aheadMs) => {
          const clock = createServerClock();
          ask(
            clock,
            aheadMs,
            calls.toSorted((a, b) => a.sentMs - b.sentMs),
          );
          expect(lateBy(clock, aheadMs, 200_000)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  it('that was set anew is followed', () => {
    const clock = createServerClock();
    const calls = (fromMs: number) =>
      Array.from({ length: 50 }, (_, at) => ({ sentMs: fromMs + at * 110 }));
    for (const [at, aheadMs] of [0, -30_000, 3_000].entries()) {
      ask(clock, aheadMs, calls(at * 10_000));
      const late = lateBy(clock, aheadMs, at * 10_000 + 6_000);
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThan(100);
    }
  });

  it('that drifts is followed', () => {
    const clock = createServerClock();
    for (let second = 0; second < 7_200; second += 1) {
      ask(clock, second / 20, [{ sentMs: second * 1_110 }]);
    }
    const late = lateBy(clock, 360, 7_200 * 1_110);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(300);
  });

  it('is asked a little sooner, when ten answers told too little, unless it is several that differ', () => {
    const clock = createServerClock();
    for (let at = 0; at < 9; at += 1) ask(clock, 0, [{ sentMs: at * 1_000 + 900 }]);
    expect(clock.soonerMs()).toBe(0);
    ask(clock, 0, [{ sentMs: 9_900 }]);
    expect(clock.soonerMs()).toBeGreaterThan(200);
    for (let at = 10; at < 20; at += 1) ask(clock, (at % 2) * 5_000, [{ sentMs: at * 1_000 }]);
    expect(clock.soonerMs()).toBe(0);
  });
});
