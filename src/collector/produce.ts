import type { LookupQueue } from '../calls/lookup-queue.ts';
import type { RowIndex } from './row-index.ts';

export interface ProduceOptions {
  readonly index: Pick<RowIndex, 'read'>;
  readonly queue: Pick<LookupQueue, 'add' | 'end'>;
  /** Domains under way: added here, removed by the collector. */
  readonly outstanding: Set<string>;
  /** Whether the store has a fresh outcome by now. */
  readonly isFresh: (domain: string) => boolean;
  /** The order in which domains are sent. @default all in one pass */
  readonly passes?: readonly Pass[] | undefined;
  /** Domains that go ahead of all. @default none */
  readonly first?: readonly string[] | undefined;
  /** The number of domains in a chunk. */
  readonly chunkSize: () => number;
  /** The most domains to send. The rest is left to the next run. @default no bound */
  readonly maxLookups?: number | undefined;
  /** Stops producing when it fires. */
  readonly signal: AbortSignal;
}

/**
 * Puts the domains that are due on the queue, pass by pass in the order of their rows, each once. A
 * domain is not sent twice because it is either under way or in the store. A list of all domains
 * that were sent would grow with the input.
 *
 * @returns false when there were more than `maxLookups`
 */
export async function produce(options: ProduceOptions): Promise<boolean> {
  const { index, queue, outstanding, isFresh, chunkSize, signal } = options;
  const { first = [], passes = [() => true], maxLookups = Number.POSITIVE_INFINITY } = options;
  let left = maxLookups;
  let gathered: string[] = [];

  function gather(domain: string): void {
    left -= 1;
    outstanding.add(domain);
    gathered.push(domain);
  }

  async function give(): Promise<void> {
    const domains = gathered;
    gathered = [];
    if (domains.length > 0) await queue.add({ domains });
  }

  try {
    for (const domain of first.slice(0, maxLookups)) if (!isFresh(domain)) gather(domain);
    const ahead = new Set(gathered);
    await give();
    for await (const due of dueIn(index, passes)) {
      for (const domain of due) {
        if (ahead.has(domain) || outstanding.has(domain) || isFresh(domain)) continue;
        if (left === 0) {
          await give();
          return false;
        }
        gather(domain);
        if (gathered.length < chunkSize()) continue;
        if (signal.aborted) return true;
        await give();
      }
      if (signal.aborted) return true;
    }
    await give();
    return true;
  } finally {
    // Domains that were still gathered at the stop are not under way.
    for (const domain of gathered) outstanding.delete(domain);
    queue.end();
  }
}

/** The domains that are due, row by row, once for each pass they are in. */
async function* dueIn(
  index: Pick<RowIndex, 'read'>,
  passes: readonly Pass[],
): AsyncGenerator<readonly string[]> {
  for (const isInPass of passes) {
    for await (const rows of index.read()) {
      const due: string[] = [];
      for (const { kind, text } of rows) if (kind === 'due' && isInPass(text)) due.push(text);
      yield due;
    }
  }
}

/**
 * Domains from all over a list: its head may be odd, and the first answers decide whether a run can go on.
 *
 * @param lookups how many domains of it are due
 */
export async function firstOf(
  index: Pick<RowIndex, 'read'>,
  lookups: number,
): Promise<readonly string[]> {
  const places = placesIn(lookups);
  const first = new Set<string>();
  let at = 0;
  for await (const due of dueIn(index, [() => true])) {
    for (const domain of due) {
      if (places.has(at)) first.add(domain);
      at += 1;
    }
  }
  return [...first];
}

const FIRST = 5;

/** Places that are spread over a list of so many. */
export function placesIn(length: number): ReadonlySet<number> {
  return new Set(
    Array.from({ length: FIRST }, (_, at) => Math.round(((at + 0.5) * (length - 1)) / FIRST)),
  );
}

/** Whether a domain is sent in one of several passes over the rows. */
export type Pass = (domain: string) => boolean;
