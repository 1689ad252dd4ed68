import { hashText } from '../common/hashes.ts';

/** Two words of the hash, and the number. */
const WORDS = 3;
const FIRST_SLOTS = 1_024;

/**
 * How often each of many texts came, such as the domains of a list. Of each, 12 bytes are kept: a
 * hash of 64 bits and the number, in one open table. A `Map` would keep the texts too, ten times as
 * much. Two texts with one hash count as one, which may not happen in a million lists of a million
 * rows, and then makes a number wrong.
 */
export function createCounts() {
  let table = new Uint32Array(FIRST_SLOTS * WORDS);
  let size = 0;
  const hash = new Uint32Array(2);

  /** Where a hash is in the table, or where it would be. */
  function placeOf(one: number, two: number): number {
    const slots = table.length / WORDS;
    let slot = one & (slots - 1);
    for (;;) {
      const at = slot * WORDS;
      if (table[at + 2] === 0 || (table[at] === one && table[at + 1] === two)) return at;
      slot = (slot + 1) & (slots - 1);
    }
  }

  function grow(): void {
    const before = table;
    table = new Uint32Array(before.length * 2);
    for (let from = 0; from < before.length; from += WORDS) {
      if (before[from + 2] === 0) continue;
      table.set(
        before.subarray(from, from + WORDS),
        placeOf(before[from] ?? 0, before[from + 1] ?? 0),
      );
    }
  }

  function find(text: string): number {
    hashText(text, 0, hash, 0);
    return placeOf(hash[0] ?? 0, hash[1] ?? 0);
  }

  return {
    /** Counts a text. Returns how often it came by now. */
    add: (text: string): number => {
      if (size * WORDS * 4 > table.length * 3) grow();
      const at = find(text);
      const times = (table[at + 2] ?? 0) + 1;
      if (times === 1) {
        table.set(hash, at);
        size += 1;
      }
      table[at + 2] = times;
      return times;
    },
    /** How often a text came. */
    of: (text: string): number => table[find(text) + 2] ?? 0,
    /** How many different texts came. */
    get size(): number {
      return size;
    },
  };
}
