import type { LookupQueue } from '../queue/lookup-queue.ts';
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
  const { passes = [() => true], maxLookups = Number.POSITIVE_INFINITY } = options;
  let left = maxLookups;
  let gathered: string[] = [];

  async function give(): Promise<void> {
    const domains = gathered;
    gathered = [];
    if (domains.length > 0) await queue.add({ domains });
  }

  try {
    for await (const due of dueIn(index, passes)) {
      for (const domain of due) {
        if (outstanding.has(domain) || isFresh(domain)) continue;
        if (left === 0) {
          await give();
          return false;
        }
        left -= 1;
        outstanding.add(domain);
        gathered.push(domain);
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

/** Whether a domain is sent in one of several passes over the rows. */
export type Pass = (domain: string) => boolean;
