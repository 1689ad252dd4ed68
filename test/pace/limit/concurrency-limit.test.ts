import { describe, expect, it } from 'vitest';
import { createPaceState } from '../../../src/pace/pacer.ts';
import { oneProcess } from '../../simulation/clients.ts';
import { leasedWorkers } from '../../simulation/leased-workers.ts';
import {
  concurrentCalls,
  type Limit,
  slidingWindow,
  tokenBucket,
} from '../../simulation/servers.ts';
import { type Result, simulate } from '../../simulation/simulate.ts';

const SCENARIO = { calls: 3_000, seed: 7, serviceMs: 100 };

function play(
  limit: Limit,
  seed = SCENARIO.seed,
): { state: ReturnType<typeof createPaceState>; result: Result } {
  const state = createPaceState({}, 0);
  const result = simulate({ ...SCENARIO, seed, limit }, oneProcess(256, state));
  return { state, result };
}

describe('a limit on calls at the same time', () => {
  it.each([1, 3, 10])('of %i is found and kept to', (count) => {
    const { state, result } = play(concurrentCalls(count));
    expect(state.concurrency.cap).toBeGreaterThanOrEqual(count);
    expect(state.concurrency.cap).toBeLessThanOrEqual(count + 2);
    expect(result.warmEfficiency).toBeGreaterThan(0.75);
  });

  it('is found, and kept to, where each throttle tells to wait', () => {
    const { state, result } = play(concurrentCalls(10, { says: 'retry_after' }));
    expect(state.concurrency.cap).toBeGreaterThanOrEqual(9);
    expect(state.concurrency.cap).toBeLessThanOrEqual(12);
    expect(result.warmEfficiency).toBeGreaterThan(0.7);
  });

  it('is found by workers that know of one another only late', () => {
    const clients = leasedWorkers({ workers: 4, callers: 64 });
    const result = simulate({ ...SCENARIO, limit: concurrentCalls(10) }, clients);
    expect(result.warmEfficiency).toBeGreaterThan(0.75);
  });
});

describe('a limit on the rate', () => {
  it.each<[string, () => Limit]>([
    ['that lets few calls be saved up', () => tokenBucket(0.05, 5)],
    ['that lets many be', () => tokenBucket(0.05, 50)],
    ['over a window', () => slidingWindow(100, 10_000)],
    ['that tells to wait', () => tokenBucket(0.05, 5, { says: 'retry_after' })],
    [
      'that tells to wait when many were saved up',
      () => tokenBucket(0.05, 50, { says: 'retry_after' }),
    ],
  ])('%s is not taken for one on calls at the same time', (_, createLimit) => {
    const seeds = Array.from({ length: 10 }, (_, at) => at + 1);
    const taken = seeds.filter((seed) => {
      const { cap, trial } = play(createLimit(), seed).state.concurrency;
      return cap > 0 && !trial.isOn; // while it is tried out, nothing is taken for anything
    });
    expect(taken).toEqual([]);
  });
});
