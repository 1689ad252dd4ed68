import { describe, expect, it } from 'vitest';
import type { PlanEstimate } from '../../src/collector/first-reading.ts';
import { createJob } from '../../src/profile/job.ts';
import { estimateCalls } from '../../src/run/plan.ts';
import type { Learned } from '../../src/worker/pace-memory.ts';

const NOW_MS = 1.8e12;
const DAY_MS = 86_400_000;

function estimate({
  given = {},
  state,
  ageMs = 0,
  calls = 100,
}: {
  given?: object;
  state?: Learned;
  ageMs?: number;
  calls?: number;
}): PlanEstimate | undefined {
  const baseUrl = 'https://api.test';
  const job = createJob({ given: { baseUrl, ...given }, env: {} });
  const findPace = () => state && { state, learnedAtMs: NOW_MS - ageMs };
  return estimateCalls(calls, job, { findPace }, NOW_MS);
}

function learned(limitPerMs: number, statedUntilMs = 0): Learned {
  return { limitPerMs, cap: 0, statedUntilMs };
}

describe('how long calls take', () => {
  it('is by the rate that was given', () => {
    expect(estimate({ given: { rate: '10/s' } })).toEqual({
      durationMs: 10_000,
      limitPerSecond: 10,
      limitIs: 'fixed',
    });
    expect(estimate({ given: { rate: '60/min', queue: 'redis://q' } })?.durationMs).toBe(100_000);
  });

  it('is by the limit that the last run met, however long ago', () => {
    for (const ageMs of [0, 1_000, 400 * DAY_MS]) {
      expect(estimate({ state: learned(0.05), ageMs })).toEqual({
        durationMs: 2_000,
        limitPerSecond: 50,
        limitIs: 'learned',
      });
    }
  });

  it('has in it what is left of a wait that the API told', () => {
    const state = learned(0.05, NOW_MS + 40_000);
    expect(estimate({ state, ageMs: 20_000 })?.durationMs).toBe(42_000);
    expect(estimate({ state, ageMs: 20_000, calls: 0 })?.durationMs).toBe(0);
  });

  it('is not known before a limit is', () => {
    expect(estimate({})).toBeUndefined();
    expect(estimate({ state: learned(0) })).toBeUndefined();
    expect(estimate({ state: { odd: true } as unknown as Learned })).toBeUndefined();
  });

  it('is not known where others make the calls, or keep the pace with this process', () => {
    const state = learned(0.05);
    expect(estimate({ state, given: { queue: 'redis://q' } })).toBeUndefined();
    const given = { queue: 'redis://q', workers: 0, rate: '10/s' };
    expect(estimate({ state, given })).toBeUndefined();
  });
});
