import type { LookupQueue } from '../queue/lookup-queue.ts';
import type { RowIndex } from './row-index.ts';

export interface ProduceOptions {
  readonly index: RowIndex;
  readonly queue: LookupQueue;
  /** Domains on their way: added here, taken out by the collector. */
  readonly outstanding: Set<string>;
  /** Whether the store has an outcome by now, from this run or from another one on the same store. */
  readonly isFresh: (domain: string) => boolean;
  /** How many domains make a chunk. */
  readonly chunkSize: number;
  /** Stops producing when it fires. */
  readonly signal: AbortSignal;
}

/**
 * Puts the domains that are due on the queue, in the order of their rows, each once. What keeps a
 * domain from going out twice is not a list of all domains, which would grow with the input, but
 * those on their way and the store.
 */
export async function produce(options: ProduceOptions): Promise<void> {
  const { index, queue, outstanding, isFresh, chunkSize, signal } = options;
  let domains: string[] = [];
  try {
    for await (const rows of index.read()) {
      for (const { kind, text: domain } of rows) {
        if (kind !== 'due' || outstanding.has(domain) || isFresh(domain)) continue;
        outstanding.add(domain);
        domains.push(domain);
        if (domains.length < chunkSize) continue;
        if (signal.aborted) return;
        await queue.add({ domains });
        domains = [];
      }
      if (signal.aborted) return;
    }
    if (domains.length > 0) await queue.add({ domains });
  } finally {
    queue.end();
  }
}
