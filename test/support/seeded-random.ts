import { onTestFailed } from 'vitest';
import { createRandom } from './random.ts';

/**
 * Random numbers from 0 to below 1 that can be had again: a failing test prints the seed, and
 * `BRANDFILL_TEST_SEED` sets it.
 */
export function useSeededRandom(): () => number {
  const seed = Number(process.env['BRANDFILL_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
  onTestFailed(() => console.log(`To see this again: BRANDFILL_TEST_SEED=${seed}`));
  return createRandom(seed);
}
