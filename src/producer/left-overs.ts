import type { LeftOvers } from '../store/left-overs.ts';
import type { RowIndex } from './row-index.ts';

/** Whether a domain is sent in one of several passes over the rows. */
export type Pass = (domain: string) => boolean;

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

export interface NoteLeftOversOptions {
  readonly index: RowIndex;
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
