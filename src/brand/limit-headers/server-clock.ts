import { findHttpDateMs } from './http-date.ts';

/** `Date` is rounded down to whole seconds… */
const DATE_MS = 1_000;
/** …and some servers look at their clock a little before they write it. */
const STALE_MS = 20;
/** How much two clocks drift apart, at most: 100 ms in a quarter of an hour. */
const DRIFT = 1e-4;
/** Answers that come at all parts of a second tell enough; after so many it shows whether they do. */
const ANSWERS_BEFORE_SOONER = 10;
/** Of what is not known. More finds out sooner, and is refused more often. */
const SOONER_SHARE = 0.25;
/** Answers that contradict one another so often come from servers whose clocks differ. */
const MOST_CONTRADICTIONS = 3;

/**
 * What a server's clock shows, learned from the `Date` of its answers: each says that the clock was in
 * that second at some time between the call and the answer. All together they say it to a round trip.
 * All times are in milliseconds since 1970.
 *
 * @see {@link https://doi.org/10.1145/2455.2456 Maintaining the time in a distributed system} for the
 *   intersection of such intervals (Marzullo and Owicki)
 */
export interface ServerClock {
  /** Takes notice of an answer, and of when its call was sent. */
  note(answer: {
    /** Its `Date`. */
    readonly date: string | undefined;
    /** When it came, by our clock. */
    readonly nowMs: number;
    /** @default `nowMs` */
    readonly sentMs?: number;
  }): void;
  /** What the server's clock shows at least; undefined before the first `Date`. */
  earliestMs(nowMs: number): number | undefined;
  /**
   * By how much sooner to come than that says, after some answers: calls that wait for the server's clock all
   * come at the same part of its seconds, and would never learn more.
   */
  soonerMs(): number;
  /** Whether this server rounds down the times it tells: then it may refuse calls for a second longer. */
  roundsDown: boolean;
}

/** By how much the server's clock is ahead of ours. */
interface Lead {
  readonly leastMs: number;
  readonly mostMs: number;
  readonly notedMs: number;
}

/** Creates a clock that knows nothing yet. */
export function createServerClock(): ServerClock {
  let lead: Lead | undefined;
  let answers = 0;
  let contradictions = 0;

  return {
    roundsDown: false,

    note({ date, nowMs, sentMs = nowMs }) {
      const dateMs = date === undefined ? undefined : findHttpDateMs(date);
      if (dateMs === undefined) return;
      const told = {
        leastMs: dateMs - nowMs,
        mostMs: dateMs + DATE_MS + STALE_MS - sentMs,
        notedMs: nowMs,
      };
      answers += 1;
      const common = lead && intersect(lead, told);
      if (lead && !common) contradictions += 1;
      lead = common ?? told;
    },

    earliestMs: (nowMs) => lead && nowMs + lead.leastMs - driftMs(lead, nowMs),

    soonerMs: () => {
      const mayCome = answers >= ANSWERS_BEFORE_SOONER && contradictions < MOST_CONTRADICTIONS;
      return lead && mayCome ? SOONER_SHARE * (lead.mostMs - lead.leastMs) : 0;
    },
  };
}

/** What holds by both; undefined where they contradict one another, as after a clock was set anew. */
function intersect(known: Lead, told: Lead): Lead | undefined {
  const drift = driftMs(known, told.notedMs);
  const leastMs = Math.max(known.leastMs - drift, told.leastMs);
  const mostMs = Math.min(known.mostMs + drift, told.mostMs);
  return leastMs <= mostMs ? { leastMs, mostMs, notedMs: told.notedMs } : undefined;
}

function driftMs({ notedMs }: Lead, nowMs: number): number {
  return DRIFT * Math.max(0, nowMs - notedMs);
}
