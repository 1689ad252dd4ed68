import type { FileHandle } from 'node:fs/promises';
import { hashText } from '../common/hashes.ts';
import { openSpool, readFromStart, writeAll } from '../rows/spool.ts';

/**
 * Distinct domains, each once. Domains are never confused, as they might be by a hash alone. Memory
 * does not grow with their number, because they are kept on the disk.
 */
export interface DistinctDomains {
  /** Adds domains. Duplicates are ignored. */
  add(domains: readonly string[]): Promise<void>;
  /** Ends adding. Returns the number of distinct domains. */
  settle(): Promise<number>;
  /**
   * Reads them in batches. Those held in memory come first, in the order they were added; the
   * others follow in a different order.
   */
  read(): AsyncIterable<readonly string[]>;
  close(): Promise<void>;
}

export interface DistinctDomainsOptions {
  /** How many domains are held in memory, at some 100 bytes each. @default 100,000 */
  readonly mostInMemory?: number;
}

/** With a million domains, one part has some 14,000 of those beyond memory. */
const PARTS = 64;
/** The buffer of a part before it is written. */
const PART_BUFFER_CHARS = 16 * 1024;
const READ_BYTES = 64 * 1024;
const NAME_END = '\n';

/**
 * Creates an empty set with files in a folder. The first domains are compared in memory. Later
 * domains that are not among them are distributed to parts by their hash, so that equal ones meet
 * in the same part. The parts are compared one by one at the end.
 *
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be written, as do all methods of
 *   the set
 */
export async function createDistinctDomains(
  folder: string,
  { mostInMemory = 100_000 }: DistinctDomainsOptions = {},
): Promise<DistinctDomains> {
  const distinct = await openSpool(folder);
  const parts: Part[] = [];
  const first = new Set<string>();
  let count = 0;

  async function keep(domains: readonly string[]): Promise<void> {
    if (domains.length === 0) return;
    count += domains.length;
    await writeAll(distinct, Buffer.from(domains.join(NAME_END) + NAME_END, 'latin1'), folder);
  }

  async function dealOut(domains: readonly string[]): Promise<void> {
    const hash = new Uint32Array(2);
    while (parts.length < PARTS) parts.push({ handle: await openSpool(folder), gathered: '' });
    for (const domain of domains) {
      hashText(domain, 0, hash, 0);
      const part = parts[(hash[0] ?? 0) % PARTS];
      if (!part) continue;
      part.gathered += domain + NAME_END;
      if (part.gathered.length >= PART_BUFFER_CHARS) await write(part);
    }
  }

  async function write(part: Part): Promise<void> {
    await writeAll(part.handle, Buffer.from(part.gathered, 'latin1'), folder);
    part.gathered = '';
  }

  return {
    add: async (domains) => {
      const kept: string[] = [];
      const later: string[] = [];
      for (const domain of domains) {
        if (first.has(domain)) continue;
        if (first.size < mostInMemory) {
          first.add(domain);
          kept.push(domain);
        } else later.push(domain);
      }
      await keep(kept);
      if (later.length > 0) await dealOut(later);
    },
    settle: async () => {
      first.clear();
      for (const part of parts) {
        await write(part);
        const seen = new Set<string>();
        for await (const domains of readNames(part.handle)) {
          for (const domain of domains) seen.add(domain);
        }
        await keep([...seen]);
      }
      return count;
    },
    read: () => readNames(distinct),
    close: async () => {
      await Promise.all([distinct, ...parts.map(({ handle }) => handle)].map((it) => it.close()));
    },
  };
}

/** Domains whose hashes fall into the same part, which are compared at the end. */
interface Part {
  readonly handle: FileHandle;
  gathered: string;
}

async function* readNames(handle: FileHandle): AsyncGenerator<readonly string[]> {
  let rest = '';
  for await (const bytes of readFromStart(handle, READ_BYTES)) {
    const names = (rest + bytes.toString('latin1')).split(NAME_END);
    rest = names.pop() ?? '';
    yield names;
  }
}

/**
 * How many rows have a domain. Only domains that come more than once take memory, 17 to 34 bytes
 * each.
 */
export interface DomainRows {
  /** Another row has this domain. */
  again(domain: string): void;
  /** The number of rows with this domain. */
  rowsOf(domain: string): number;
}

export function createDomainRows(): DomainRows {
  const repeats = createHashTable({ withCounts: true });
  return {
    again: (domain) => void repeats.add(domain),
    rowsOf: (domain) => 1 + repeats.countOf(domain),
  };
}

/**
 * Strings in an open-addressing table that stores a 64-bit hash of each instead of its text. So two
 * strings may be confused: with ten million strings, the chance that this happens at all is one in
 * 370,000. The table serves counts for display, never the decision what is looked up. Without
 * counts, a string takes 11 to 23 bytes, whatever its length.
 */
interface HashTable {
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
  const hash = new Uint32Array(2);

  /** The slot of a text; two zeros mark a free one. */
  function slotOf(text: string): number {
    hashText(text, 0, hash, 0);
    hash[1] ||= 1;
    return find(slots, hash[0] ?? 0, hash[1] ?? 1);
  }

  /** The slot of a hash, or the free slot for it. */
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
      const at = slotOf(text);
      const isNew = slots[at] === 0 && slots[at + 1] === 0;
      slots[at] = hash[0] ?? 0;
      slots[at + 1] = hash[1] ?? 0;
      if (withCounts) slots[at + 2] = (slots[at + 2] ?? 0) + 1;
      if (!isNew) return false;
      size += 1;
      if (size * words > slots.length * FULLEST) grow();
      return true;
    },
    countOf: (text) => slots[slotOf(text) + 2] ?? 0,
    get size() {
      return size;
    },
  };
}
