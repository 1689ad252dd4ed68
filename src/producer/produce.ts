import { setTimeout as delay } from 'node:timers/promises';
import type { LookupQueue } from '../queue/lookup-queue.ts';
import type { Claims } from '../store/claims/claims.ts';
import type { Pass } from './left-overs.ts';
import type { RowIndex } from './row-index.ts';

export interface ProduceOptions {
  readonly index: RowIndex;
  readonly queue: LookupQueue;
  /** Domains on their way: added here, taken out by the collector. */
  readonly outstanding: Set<string>;
  /** Whether the store has an outcome by now, from this run or from another one on the same store. */
  readonly isFresh: (domain: string) => boolean;
  /** What this run and others on the same store have under way. */
  readonly claims: Pick<Claims, 'take'>;
  /** Told, as often as it is looked, how many domains wait for an outcome of another run. */
  readonly onWait?: (count: number) => void;
  /** Which domains go out first. @default all in one pass */
  readonly passes?: readonly Pass[];
  /** How many domains make a chunk. */
  readonly chunkSize: number;
  /** The most that are given out; those beyond are left to another run. @default no bound */
  readonly maxLookups?: number | undefined;
  /** Stops producing when it fires. */
  readonly signal: AbortSignal;
}

/** What others have under way is looked for so often, on average: two that want the same must not meet again. */
const LOOK_MS = 200;
/** So many that others had are kept in mind before those are left out that have their outcomes by now. */
const MOST_REFUSED = 10_000;

/**
 * Puts the domains that are due on the queue, pass by pass in the order of their rows, each once.
 * What keeps a domain from going out twice is not a list of all domains, which would grow with the
 * input, but those on their way and the store. Those that another run has under way come last.
 *
 * @returns false when there were more than `maxLookups`
 */
export async function produce(options: ProduceOptions): Promise<boolean> {
  const { index, queue, outstanding, isFresh, claims, chunkSize, signal } = options;
  const { passes = [() => true], maxLookups = Number.POSITIVE_INFINITY, onWait } = options;
  const refused = new Set<string>();
  let mostRefused = MOST_REFUSED;
  let left = maxLookups;
  let isTooMany = false;
  let gathered: string[] = [];
  let isLast = false;

  function gather(domain: string): void {
    refused.delete(domain);
    if (outstanding.has(domain) || isFresh(domain)) return;
    if (left === 0) {
      isTooMany = true;
      return;
    }
    left -= 1;
    outstanding.add(domain);
    gathered.push(domain);
  }

  /** Puts what was gathered on the queue. */
  async function give(): Promise<void> {
    const taken = claims.take(gathered, isFresh);
    if (taken.granted.length < gathered.length) leaveOut(taken.refused, new Set(taken.granted));
    gathered = [];
    // Before it waits for room on the queue: of many that come back, some are on their way by then.
    if (isLast) onWait?.(refused.size);
    if (taken.granted.length > 0) await queue.add({ domains: taken.granted });
  }

  function leaveOut(wanted: readonly string[], granted: ReadonlySet<string>): void {
    for (const domain of gathered) if (!granted.has(domain)) outstanding.delete(domain);
    left += gathered.length - granted.size;
    for (const domain of wanted) refused.add(domain);
    if (refused.size <= mostRefused) return;
    for (const domain of refused) if (isFresh(domain)) refused.delete(domain);
    mostRefused = Math.max(MOST_REFUSED, 2 * refused.size);
  }

  const isOver = (): boolean => isTooMany || signal.aborted;

  async function giveAll(domains: Iterable<string>): Promise<void> {
    for (const domain of domains) {
      // Of those gathered, some may be left to others, and not count.
      if (left === 0) await giveRest();
      gather(domain);
      if (isTooMany) return;
      if (gathered.length < chunkSize) continue;
      if (signal.aborted) return;
      await give();
    }
  }

  async function giveRest(): Promise<void> {
    if (gathered.length > 0 && !signal.aborted) await give();
  }

  try {
    // What is on its way from an earlier run, others must not ask.
    if (outstanding.size > 0) claims.take([], isFresh);
    for await (const due of dueIn(index, passes)) {
      await giveAll(due);
      if (isOver()) break;
    }
    await giveRest();
    isLast = true;
    while (refused.size > 0 && !isOver()) {
      await giveAll([...refused]);
      await giveRest();
      onWait?.(refused.size);
      if (refused.size === 0) break;
      await delay(LOOK_MS * (0.5 + Math.random()));
    }
    return !isTooMany;
  } finally {
    // What was gathered when it was told to stop is not on its way.
    for (const domain of gathered) outstanding.delete(domain);
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
