import { expect, it } from 'vitest';
import { oneProcess } from '../../simulation/clients.ts';
import { tokenBucket } from '../../simulation/servers.ts';
import { simulate } from '../../simulation/simulate.ts';

const SEEDS = [1, 2, 3, 4, 5];
const MANY = 100_000;

it.each([
  [100, 18.5],
  [1_000, 8.2],
])('a short list takes few round trips of %i ms where there is no limit', (serviceMs, most) => {
  const takenMs = SEEDS.map((seed) => {
    const scenario = { limit: tokenBucket(MANY, MANY), calls: 100, seed, serviceMs };
    return simulate(scenario, oneProcess(32)).elapsedMs;
  });
  const meanMs = takenMs.reduce((sum, ms) => sum + ms, 0) / SEEDS.length;
  expect(meanMs / serviceMs).toBeLessThan(most); // all callers at once would take four, or a little more
});
