import { isLeftOut } from './left-out.ts';

/** Random numbers that a seed decides. */
export type SeededRandom = ReturnType<typeof seededRandom>;

/**
 * Random numbers from 0 to below 1, the same for the same seed.
 *
 * @see {@link https://prng.di.unimi.it/splitmix64.c SplitMix}, in 32 bits
 */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** How many seeds a test is to see: one, or at night more. */
export const SEEDS = Number(process.env['BRANDFILL_TEST_SEEDS'] ?? 1);

/** Whether what takes long and finds little is left out, as by day; says so. */
export function isByDay(what: string): boolean {
  return isLeftOut(SEEDS === 1 && `${what}, by day; BRANDFILL_TEST_SEEDS=10 has it`);
}

/** The random numbers of a test file. The seed is printed; `BRANDFILL_TEST_SEED` sets it. */
export function seededRandom(file: string) {
  const seed = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
  console.log(`${file}: seed ${seed} (BRANDFILL_TEST_SEED sets it)`);
  const next = createRandom(seed);
  return {
    next,
    /** A whole number, both ends included. */
    between: (from: number, to: number): number => from + Math.floor(next() * (to - from + 1)),
    pick: <T>(list: readonly T[]): T | undefined => list[Math.floor(next() * list.length)],
  };
}
