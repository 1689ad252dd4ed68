import { describe, expect, it } from 'vitest';
import { createRateHistory, type RateSample } from '../../src/web/rate-history.ts';

describe('a history of rates', () => {
  it('has a point a second, with calls per second and the limit', () => {
    const history = createRateHistory();
    for (let at = 1; at <= 8; at += 1) {
      history.add({
        elapsedMs: at * 250,
        calls: at * 5,
        limitPerSecond: at > 4 ? 25.04 : undefined,
      });
    }
    expect(history.points).toEqual([
      [1, 20, null],
      [2, 20, 25],
    ]);
  });

  it('stays below its bound however long the run is, and covers all of it', () => {
    const history = createRateHistory(50);
    const seconds = 5_000;
    for (let at = 1; at <= seconds; at += 1) {
      history.add({ elapsedMs: at * 1_000, calls: at * 10, limitPerSecond: undefined });
    }
    expect(history.points.length).toBeLessThanOrEqual(50);
    expect(history.points.length).toBeGreaterThan(20);
    expect(history.points[0]?.[0]).toBeLessThan(500);
    expect(history.points.at(-1)?.[0]).toBeGreaterThan(seconds - 500);
    expect(new Set(history.points.map(([, rate]) => rate))).toEqual(new Set([10]));
  });

  it('spreads calls that are told by the chunk over the time that it took', () => {
    const history = createRateHistory();
    const told = [0, 0, 0, 60, 60, 60, 120, 120, 120, 120, 120, 120, 120, 120];
    for (const [at, calls] of told.entries()) {
      const elapsedMs = (at + 1) * 1_000;
      history.add({ elapsedMs, calls, limitPerSecond: undefined, comesInBursts: true });
    }
    expect(history.points).toEqual([
      [4, 15, null],
      [7, 20, null],
      [12, 0, null], // that is no chunk any more
    ]);
    expect(history.nowPerSecond).toBe(6);
  });

  it('says how fast it goes now: nothing, soon after calls have stopped', () => {
    const history = createRateHistory();
    for (let at = 1; at <= 20; at += 1) {
      history.add({ elapsedMs: at * 250, calls: at * 5, limitPerSecond: undefined });
    }
    expect(history.nowPerSecond).toBe(20);
    for (let at = 21; at <= 32; at += 1) {
      history.add({ elapsedMs: at * 250, calls: 100, limitPerSecond: undefined });
    }
    expect(history.nowPerSecond).toBe(0);
  });

  it('tells what held calls up for a fifth of a span or more, and for longest', () => {
    const history = createRateHistory(4);
    const held = [undefined, 'paused', 'paused', undefined, 'outage', 'told', 'told', undefined];
    for (const [at, heldBy] of held.entries()) {
      const elapsedMs = (at + 1) * 500;
      history.add({ elapsedMs, calls: 0, limitPerSecond: undefined, heldBy } as RateSample);
    }
    const shown = (): readonly unknown[] => history.points.map((point) => point[3]);
    expect(shown()).toEqual(['paused', 'paused', 'outage', 'told']);
    history.add({ elapsedMs: 5_000, calls: 0, limitPerSecond: undefined });
    expect(shown()).toEqual(['paused', 'told', undefined]); // two of them are one now
  });
});
