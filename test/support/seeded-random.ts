import { onTestFailed } from 'vitest';

/**
 * Random numbers from 0 to below 1 that can be had again: a failing test prints the seed, and
 * `TEST_SEED` sets it.
 *
 * @see {@link https://prng.di.unimi.it/splitmix64.c SplitMix}, in 32 bits
 */
export function useSeededRandom(): () => number {
  const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
  onTestFailed(() => console.log(`To see this again: TEST_SEED=${seed}`));
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
