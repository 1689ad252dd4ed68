import type { LookupQueue } from '../queue/lookup-queue.ts';
import type { Pass } from './left-overs.ts';
import type { RowIndex } from './row-index.ts';

export interface ProduceOptions {
  readonly index: RowIndex;
  readonly queue: LookupQueue;
  /** Domains on their way: added here, taken out by the collector. */
  readonly outstanding: Set<string>;
  /** Whether the store has an outcome by now, from this run or from another one on the same store. */
  readonly isFresh: (domain: string) => boolean;
  /** Which domains go out first. @default all in one pass */
  readonly passes?: readonly Pass[];
  /** How many domains make a chunk. */
  readonly chunkSize: number;
  /** The most that are given out; those beyond are left to another run. @default no bound */
  readonly maxLookups?: number | undefined;
  /** Stops producing when it fires. */
  readonly signal: AbortSignal;
}

/**
 * Puts the domains that are due on the queue, pass by pass in the order of their rows, each once.
 * What keeps a domain from going out twice is not a list of all domains, which would grow with the
 * input, but those on their way and the store.
 *
 * @returns false when there were more than `maxLookups`
 */
export async function produce(options: ProduceOptions): Promise<boolean> {
  const { index, queue, outstanding, isFresh, chunkSize, signal, maxLookups } = options;
  const { passes = [() => true] } = options;
  let left = maxLookups ?? Number.POSITIVE_INFINITY;
  let domains: string[] = [];
  let isComplete = true;
  try {
    rows: for await (const due of dueIn(index, passes)) {
      for (const domain of due) {
        if (outstanding.has(domain) || isFresh(domain)) continue;
        if (left === 0) {
          isComplete = false;
          break rows;
        }
        left -= 1;
        outstanding.add(domain);
        domains.push(domain);
        if (domains.length < chunkSize) continue;
        if (signal.aborted) return true;
        await queue.add({ domains });
        domains = [];
      }
      if (signal.aborted) return true;
    }
    if (domains.length > 0) await queue.add({ domains });
    domains = [];
    return isComplete;
  } finally {
    // What was gathered when it was told to stop is not on its way.
    for (const domain of domains) outstanding.delete(domain);
    queue.end();
  }
}

/** The domains that are due, row by row, once for each pass that they are in. */
async function* dueIn(index: RowIndex, passes: readonly Pass[]): AsyncGenerator<readonly string[]> {
  for (const isInPass of passes) {
    for await (const rows of index.read()) {
      const due: string[] = [];
      for (const { kind, text } of rows) if (kind === 'due' && isInPass(text)) due.push(text);
      yield due;
    }
  }
}
