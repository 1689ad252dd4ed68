import { setTimeout as delay } from 'node:timers/promises';
import type { LookupQueue } from '../queue/lookup-queue.ts';
import type { Claims } from '../store/claims/claims.ts';
import type { LeftOvers } from '../store/notes.ts';
import type { RowIndex } from './row-index.ts';

export interface ProduceOptions {
  readonly index: Pick<RowIndex, 'read'>;
  readonly queue: LookupQueue;
  /** Domains under way: added here, removed by the collector. */
  readonly outstanding: Set<string>;
  /** Whether the store has a fresh outcome by now, from this run or another on the same store. */
  readonly isFresh: (domain: string) => boolean;
  /** Claims of this run and others on the same store. */
  readonly claims: Pick<Claims, 'take'>;
  /** Called at each check with how many domains wait for the outcome of another run. */
  readonly onWait?: (count: number) => void;
  /** The order in which domains are sent. @default all in one pass */
  readonly passes?: readonly Pass[];
  /** The number of domains in a chunk. */
  readonly chunkSize: number;
  /** The most domains to send. The rest is left to another run. @default no bound */
  readonly maxLookups?: number | undefined;
  /** Stops producing when it fires. */
  readonly signal: AbortSignal;
}

/**
 * The average interval of checks for domains of other runs. Random, so that two runs that want the
 * same domain do not collide again.
 */
const POLL_MS = 200;
/** When more domains than this were refused, those with outcomes by now are dropped. */
const MOST_REFUSED = 10_000;

/**
 * Puts the domains that are due on the queue, pass by pass in the order of their rows, each once. A
 * domain is not sent twice because it is either under way or in the store. A list of all domains
 * that were sent would grow with the input. Domains that another run has under way come last.
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

  /** Puts the gathered domains on the queue. */
  async function give(): Promise<void> {
    const taken = claims.take(gathered, isFresh);
    if (taken.granted.length < gathered.length) leaveOut(taken.refused, new Set(taken.granted));
    gathered = [];
    // Reported before `add` waits for room: many domains may come back meanwhile, and some are then
    // under way.
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
      // Some of the gathered domains may be refused, and then do not count.
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
    // Claims what is under way from an earlier run, so that others do not ask it.
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
      await delay(POLL_MS * (0.5 + Math.random()));
    }
    return !isTooMany;
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
type Pass = (domain: string) => boolean;

/** Each pass reads the row index once. Domains left over at more times than this share one pass. */
const MOST_TIMES = 4;

/**
 * The order in which domains are sent: those left over longest first, then the other left-over
 * domains, then all the rest. Domains left over in one night are asked in the next, again the
 * longest waiting first. So a budget goes round the whole list, however small it is.
 *
 * @returns the passes to make in turn. A domain may be in more than one of them.
 */
export function linePasses(leftOvers: LeftOvers): readonly Pass[] {
  const known = leftOvers.times();
  const sinceOf = (domain: string): number | undefined => leftOvers.sinceOf(domain);
  const all: Pass = () => true;
  if (known.length === 0) return [all];
  const oldest = known.slice(0, MOST_TIMES).map(
    (time): Pass =>
      (domain) =>
        sinceOf(domain) === time,
  );
  const others: Pass = (domain) => sinceOf(domain) !== undefined;
  return known.length > MOST_TIMES ? [...oldest, others, all] : [...oldest, all];
}

interface NoteLeftOversOptions {
  readonly index: Pick<RowIndex, 'read'>;
  readonly leftOvers: LeftOvers;
  /** Whether a domain has an outcome that counts in this run. */
  readonly isFresh: (domain: string) => boolean;
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
}

/** The size of a write. A commit for each batch of rows would take longer than reading them. */
const BATCH = 5_000;

/** Notes which domains of a list a run did not get to, and which are no longer left over. */
export async function noteLeftOvers(options: NoteLeftOversOptions): Promise<void> {
  const { index, leftOvers, isFresh, startedAtMs } = options;
  const left = new Set<string>();
  const asked = new Set<string>();

  async function write(): Promise<void> {
    await leftOvers.add([...left], startedAtMs);
    await leftOvers.remove([...asked]);
    left.clear();
    asked.clear();
  }

  for await (const rows of index.read()) {
    for (const { kind, text: domain } of rows) {
      if (kind !== 'due' && kind !== 'known') continue;
      (isFresh(domain) ? asked : left).add(domain);
    }
    if (left.size + asked.size >= BATCH) await write();
  }
  await write();
}
