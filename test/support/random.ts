/** Random numbers that a seed decides. */
export interface SeededRandom {
  /** From 0 to below 1. */
  readonly next: () => number;
  /** A whole number, both ends included. */
  between(from: number, to: number): number;
  pick<T>(list: readonly T[]): T | undefined;
}

/**
 * The random numbers of a test file. The seed is printed; `BRANDFILL_TEST_SEED` sets it.
 *
 * @see {@link https://gist.github.com/tommyettinger/46a874533244883189143505d203312c Mulberry32}
 */
export function seededRandom(file: string): SeededRandom {
  const seed = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
  console.log(`${file}: seed ${seed} (BRANDFILL_TEST_SEED sets it)`);
  let state = seed;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}
