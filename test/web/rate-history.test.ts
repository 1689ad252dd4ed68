import { describe, expect, it } from 'vitest';
import type { PaceDescription } from '../../src/pace/pacer.ts';
import type { Progress } from '../../src/watch/events.ts';
import { createRateHistory } from '../../src/web/live-run.ts';
import { progressAt } from '../report/recordings.ts';

function paceOf(pace: Partial<PaceDescription>): PaceDescription {
  return {
    ratePerSecond: 100,
    limitIs: 'learned',
    waitMs: 0,
    why: 'at_pace',
    ...pace,
  } as PaceDescription;
}

const HELD: Readonly<Record<string, Partial<Progress>>> = {
  nothing: {},
  paused: { isPaused: true },
  outage: { outage: 'timeout' },
  told: { pace: paceOf({ why: 'told_to_wait' }) },
};

describe('a history of rates', () => {
  it('has a point a second, with calls per second and the limit', () => {
    const history = createRateHistory();
    for (let at = 1; at <= 8; at += 1) {
      const pace = at > 4 ? { pace: paceOf({ learnedLimitPerSecond: 25.04 }) } : {};
      history.add(progressAt(at * 250, { calls: at * 5, ...pace }));
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
      history.add(progressAt(at * 1_000, { calls: at * 10 }));
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
      history.add(progressAt(elapsedMs, { calls, comesInBursts: true }));
    }
    expect(history.points.map(([second, rate]) => [second, rate])).toEqual([
      ...[1, 2, 3, 4].map((second) => [second, 15]),
      ...[5, 6, 7].map((second) => [second, 20]),
      ...[8, 9, 10, 11, 12].map((second) => [second, 0]), // that is no chunk any more
    ]);
    expect(history.nowPerSecond).toBe(6);
  });

  it('says how fast it goes now: nothing, soon after calls have stopped', () => {
    const history = createRateHistory();
    for (let at = 1; at <= 20; at += 1) {
      history.add(progressAt(at * 250, { calls: at * 5 }));
    }
    expect(history.nowPerSecond).toBe(20);
    for (let at = 21; at <= 32; at += 1) {
      history.add(progressAt(at * 250, { calls: 100 }));
    }
    expect(history.nowPerSecond).toBe(0);
  });

  it('tells what held calls up for a fifth of a span or more, and for longest', () => {
    const history = createRateHistory(5);
    const held = ['nothing', 'paused', 'paused', 'nothing', 'outage', 'told', 'told', 'nothing'];
    for (const [at, heldBy] of held.entries()) {
      history.add(progressAt((at + 1) * 500, HELD[heldBy]));
    }
    const shown = (): readonly unknown[] => history.points.map((point) => point[3]);
    expect(shown()).toEqual(['paused', 'paused', 'outage', 'told']);
    history.add(progressAt(6_000));
    expect(shown()).toEqual(['paused', 'told', undefined]); // two of them are one now
  });
});
