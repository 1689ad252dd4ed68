/**
 * Counts distinct strings in 8 bytes each, whatever their length. It keeps a 64-bit hash of every
 * string in an open-addressing table, so two strings might be taken for one: at ten million strings
 * the chance that this happens at all is one in 370,000. It is used for counts that are shown, never
 * to decide what is looked up.
 */
export interface DistinctCounter {
  /** Whether the string is new. */
  add(text: string): boolean;
  readonly count: number;
}

const FIRST_CAPACITY = 1 << 12;
const FULLEST = 0.7;

export function createDistinctCounter(): DistinctCounter {
  let capacity = FIRST_CAPACITY;
  let slots = new Uint32Array(capacity * 2);
  let count = 0;

  /** Puts a hash into a table, or says that it is there. Two zeros mark a free slot. */
  function insert(table: Uint32Array, high: number, low: number): boolean {
    const mask = table.length / 2 - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * 2;
      if (table[at] === 0 && table[at + 1] === 0) {
        table[at] = high;
        table[at + 1] = low;
        return true;
      }
      if (table[at] === high && table[at + 1] === low) return false;
    }
  }

  function grow(): void {
    const larger = new Uint32Array(capacity * 4);
    for (let at = 0; at < slots.length; at += 2) {
      const high = slots[at] ?? 0;
      const low = slots[at + 1] ?? 0;
      if (high !== 0 || low !== 0) insert(larger, high, low);
    }
    slots = larger;
    capacity *= 2;
  }

  return {
    add: (text) => {
      const [high, low] = hash64(text);
      if (!insert(slots, high, low)) return false;
      count += 1;
      if (count > capacity * FULLEST) grow();
      return true;
    },
    get count() {
      return count;
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
  return [finish(high ^ low), finish(low) || 1];
}

function finish(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
