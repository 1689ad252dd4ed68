/** `Date` is rounded down to whole seconds. */
const DATE_MS = 1_000;
/** Some servers read their clock a little before they write `Date`. */
const STALE_MS = 20;
/** How much two clocks drift apart, at most: 100 ms in a quarter of an hour. */
const DRIFT = 1e-4;
/**
 * Answers show the server's clock well when they come at all parts of a second. After this many it
 * is clear whether they do.
 */
const ANSWERS_BEFORE_SOONER = 10;
/**
 * The share of the uncertainty by which calls come sooner. A larger share learns faster and is
 * refused more often.
 */
const SOONER_SHARE = 0.25;
/** So many contradictions mean that the answers come from servers whose clocks differ. */
const MOST_CONTRADICTIONS = 3;

/**
 * A server's clock, learned from the `Date` of its answers. Each answer says that the clock was in
 * that second at some time between the call and the answer. Together they narrow the clock down to
 * a round trip. All times are in milliseconds since 1970.
 *
 * @see {@link https://doi.org/10.1145/2455.2456 Maintaining the time in a distributed system} for the
 *   intersection of such intervals (Marzullo and Owicki)
 */
export interface ServerClock {
  /** Learns from an answer and from when its call was sent. */
  note(answer: {
    /** The answer's `Date`. */
    readonly date: string | undefined;
    /** When the answer came, by our clock. */
    readonly nowMs: number;
    /** @default `nowMs` */
    readonly sentMs?: number;
  }): void;
  /** The earliest time that the server's clock can show; undefined before the first `Date`. */
  earliestMs(nowMs: number): number | undefined;
  /**
   * By how much sooner than `earliestMs` says to call, once enough answers came. Calls that all
   * wait for the server's clock come at the same part of its seconds, and nothing more would be
   * learned from them.
   */
  soonerMs(): number;
  /**
   * Whether this server rounds down the times it states. It may then refuse calls for up to a
   * second longer.
   */
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

/**
 * The interval in which both hold. Undefined when they contradict one another, as after a clock was
 * set.
 */
function intersect(known: Lead, told: Lead): Lead | undefined {
  const drift = driftMs(known, told.notedMs);
  const leastMs = Math.max(known.leastMs - drift, told.leastMs);
  const mostMs = Math.min(known.mostMs + drift, told.mostMs);
  return leastMs <= mostMs ? { leastMs, mostMs, notedMs: told.notedMs } : undefined;
}

function driftMs({ notedMs }: Lead, nowMs: number): number {
  return DRIFT * Math.max(0, nowMs - notedMs);
}

/** The three forms of RFC 9110, 5.6.7, and the zones of e-mail, which many libraries write. */
const HTTP_DATE =
  /^[A-Za-z]{3,9}, \d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} (?:GMT|UTC|[+-]\d{4})$/;
const ASCTIME = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
const LONGEST_HTTP_DATE = 64;

/**
 * A date in one of the forms of HTTP, in milliseconds since 1970; undefined for any other text.
 * `Date.parse` alone accepts far more, such as `retry 3600`.
 */
export function findHttpDateMs(text: string): number | undefined {
  if (text.length > LONGEST_HTTP_DATE) return undefined;
  const isAsctime = ASCTIME.test(text);
  if (!isAsctime && !HTTP_DATE.test(text)) return undefined;
  const ms = Date.parse(isAsctime ? `${text} GMT` : text);
  return Number.isNaN(ms) ? undefined : ms;
}
