import { fmix32 } from '../common/fnv1a.ts';

/**
 * Strings in an open-addressing table that stores a 64-bit hash of each instead of its text. So two
 * strings may be confused: with ten million strings, the chance that this happens at all is one in
 * 370,000. The table serves counts for display, never the decision what is looked up. Without
 * counts, a string takes 11 to 23 bytes, whatever its length.
 */
export interface HashTable {
  /** Adds a string. Returns whether it is new. */
  add(text: string): boolean;
  /** How often a string was added. Needs a table `withCounts`. */
  countOf(text: string): number;
  /** The number of distinct strings. */
  readonly size: number;
}

const FIRST_CAPACITY = 1 << 12;
const FULLEST = 0.7;

/**
 * @param options.withCounts whether to count each string, which takes 12 bytes a slot instead of 8
 */
export function createHashTable({
  withCounts = false,
}: {
  readonly withCounts?: boolean;
} = {}): HashTable {
  const words = withCounts ? 3 : 2;
  let slots = new Uint32Array(FIRST_CAPACITY * words);
  let size = 0;

  /** The slot of a hash, or the free slot for it. Two zeros mark a free slot. */
  function find(table: Uint32Array, high: number, low: number): number {
    const mask = table.length / words - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * words;
      if (table[at] === 0 && table[at + 1] === 0) return at;
      if (table[at] === high && table[at + 1] === low) return at;
    }
  }

  function grow(): void {
    const larger = new Uint32Array(slots.length * 2);
    for (let at = 0; at < slots.length; at += words) {
      const high = slots[at] ?? 0;
      const low = slots[at + 1] ?? 0;
      if (high === 0 && low === 0) continue;
      const to = find(larger, high, low);
      for (let word = 0; word < words; word += 1) larger[to + word] = slots[at + word] ?? 0;
    }
    slots = larger;
  }

  return {
    add: (text) => {
      const [high, low] = hash64(text);
      const at = find(slots, high, low);
      const isNew = slots[at] === 0 && slots[at + 1] === 0;
      slots[at] = high;
      slots[at + 1] = low;
      if (withCounts) slots[at + 2] = (slots[at + 2] ?? 0) + 1;
      if (!isNew) return false;
      size += 1;
      if (size * words > slots.length * FULLEST) grow();
      return true;
    },
    countOf: (text) => {
      const [high, low] = hash64(text);
      return slots[find(slots, high, low) + 2] ?? 0;
    },
    get size() {
      return size;
    },
  };
}

/** Two 32-bit FNV-1a lanes with different starts, each finished as in MurmurHash3. */
function hash64(text: string): readonly [high: number, low: number] {
  let high = 0x811c9dc5;
  let low = 0x5bd1e995;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low ^ code, 0x85ebca6b) ^ (low >>> 15);
  }
  return [fmix32(high ^ low), fmix32(low) || 1];
}
