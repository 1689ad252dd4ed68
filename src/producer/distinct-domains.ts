import type { FileHandle } from 'node:fs/promises';
import { fnv1a } from '../common/fnv1a.ts';
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
    while (parts.length < PARTS) parts.push({ handle: await openSpool(folder), gathered: '' });
    for (const domain of domains) {
      const part = parts[fnv1a(domain) % PARTS];
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
