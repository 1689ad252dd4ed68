import type { Chunk } from '../calls/lookup-queue.ts';
import type { RowIndex } from './row-index.ts';

export interface ProduceOptions extends Pick<Order, 'first'> {
  readonly index: Pick<RowIndex, 'read'>;
  /** The order in which domains are sent. */
  readonly passes: readonly Pass[];
  /** Puts a chunk on the queue. Waits while its window is full. */
  readonly give: (chunk: Chunk) => Promise<void>;
  /** Domains under way: added here, removed by the collector. */
  readonly outstanding: Set<string>;
  /** Whether the store has a fresh outcome by now. */
  readonly isFresh: (domain: string) => boolean;
  /** The number of domains in a chunk. */
  readonly chunkSize: () => number;
  /** Stops producing when it fires. */
  readonly signal: AbortSignal;
}

/**
 * Puts the domains that are due on the queue, pass by pass in the order of their first rows, each
 * once.
 */
export async function produce(options: ProduceOptions): Promise<void> {
  const { index, passes, first, outstanding, isFresh, chunkSize, signal } = options;
  let gathered: string[] = [];

  function gather(domain: string): void {
    outstanding.add(domain);
    gathered.push(domain);
  }

  async function give(): Promise<void> {
    const domains = gathered;
    gathered = [];
    if (domains.length > 0) await options.give({ domains });
  }

  try {
    for (const domain of first) if (!isFresh(domain)) gather(domain);
    const ahead = new Set(gathered);
    await give();
    for (const isInPass of passes) {
      for await (const domains of dueIn(index)) {
        for (const domain of domains) {
          if (!isInPass(domain) || ahead.has(domain)) continue;
          if (outstanding.has(domain) || isFresh(domain)) continue;
          gather(domain);
          if (gathered.length < chunkSize()) continue;
          if (signal.aborted) return;
          await give();
        }
        if (signal.aborted) return;
      }
    }
    await give();
  } finally {
    // Domains that were still gathered at the stop are not under way.
    for (const domain of gathered) outstanding.delete(domain);
  }
}

/** The domains that are due, in the order of their first rows. */
async function* dueIn(index: Pick<RowIndex, 'read'>): AsyncGenerator<readonly string[]> {
  for await (const rows of index.read()) {
    const due: string[] = [];
    for (const { kind, text, isFirst } of rows) if (kind === 'due' && isFirst) due.push(text);
    yield due;
  }
}

/** Whether a domain is sent in one of several passes over the rows. */
export type Pass = (domain: string) => boolean;

/** In which order the domains of a list are asked. */
export type Order = Awaited<ReturnType<typeof readOrder>>;

/**
 * Domains that were asked longest ago go first, and before them those that never were. So whatever
 * a run leaves over, because it was stopped or had no calls left, comes first in the next one, and
 * a budget goes round the whole list, however small it is.
 *
 * @param askedAtMs when a domain was asked last, in milliseconds since 1970; 0 for one that never
 *   was
 */
export async function readOrder(
  index: Pick<RowIndex, 'read'>,
  askedAtMs: (domain: string) => number,
) {
  const line = createLine();
  const spread = createSpread();
  let lookups = 0;
  for await (const domains of dueIn(index)) {
    lookups += domains.length;
    for (const domain of domains) {
      line.add(askedAtMs(domain));
      spread.add(domain);
    }
  }
  return {
    /** How many are due. */
    lookups,
    /**
     * Domains from all over the list, which go ahead of all where it is not known whether the API
     * answers: the head of a list may be odd, and the first answers decide whether a run can go on.
     */
    first: spread.take(),
    /** @param most so many are asked, if not all */
    passes: (most: number): readonly Pass[] => {
      const untilMs = line.cut(most);
      const isAll: Pass = () => true;
      return untilMs === undefined ? [isAll] : [(domain) => askedAtMs(domain) <= untilMs, isAll];
    },
  };
}

/** Times are told apart by so much. */
const SLOT_MS = 100;

/** When the domains that are due were asked last. */
export function createLine() {
  const slots = new Map<number, number>();
  let all = 0;
  return {
    /** @param atMs 0 for a domain that never was */
    add: (atMs: number): void => {
      const slot = Math.floor(atMs / SLOT_MS);
      slots.set(slot, (slots.get(slot) ?? 0) + 1);
      all += 1;
    },
    /**
     * The time until which no more than so many were asked last, nor than half of all, but those
     * that were asked first; undefined where all were at the same time.
     */
    cut: (most: number): number | undefined => {
      if (slots.size < 2) return undefined;
      const [[first, firsts] = [0, 0], ...others] = [...slots].sort(
        ([one], [other]) => one - other,
      );
      let [last, left] = [first, Math.min(most, all / 2) - firsts];
      for (const [slot, count] of others) {
        left -= count;
        if (left < 0) break; // else some of the first would have to wait
        last = slot;
      }
      return (last + 1) * SLOT_MS - 1;
    },
  };
}

const FIRST = 5;

/** Places that are spread over a list of so many. */
export function placesIn(length: number): ReadonlySet<number> {
  return new Set(
    Array.from({ length: FIRST }, (_, at) => Math.round(((at + 0.5) * (length - 1)) / FIRST)),
  );
}

/**
 * So many are kept of a list whose length is not known while it is read: each one, each second,
 * fourth, …
 */
const MOST_KEPT = 1_024;

function createSpread() {
  let kept: string[] = [];
  let apart = 1;
  let seen = 0;
  return {
    add: (domain: string): void => {
      if (seen % apart === 0) kept.push(domain);
      seen += 1;
      if (kept.length < MOST_KEPT) return;
      kept = kept.filter((_, at) => at % 2 === 0);
      apart *= 2;
    },
    take: (): readonly string[] => {
      const places = placesIn(kept.length);
      return kept.filter((_, at) => places.has(at));
    },
  };
}
