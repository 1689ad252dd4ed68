import { LONGEST_STATED_MS } from '../../common/calls.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../common/format.ts';

/** A header as an HTTP client returns it. Several lines of one name are a list. */
export type FieldValue = string | readonly string[] | undefined;

/** When an answer came, by our clock and by the server's. */
export interface AnswerTime {
  readonly nowMs: number;
  /** The answer's `Date`. */
  readonly date: string | undefined;
  /** When the call was sent, by our clock. @default `nowMs` */
  readonly sentMs?: number;
  /** The server's clock, as far as it is known. @default only this answer's `Date` */
  readonly clock?: ServerClock | undefined;
}

/** What differs between fields that name a time. */
export interface TimeField {
  /** The unit of a number that is too small for a point in time. @default 's' */
  readonly unit?: 's' | 'ms';
  /** By how much seconds since 1970 may have been rounded down. @default 1000 */
  readonly roundedMs?: number;
}

/** Seconds since 1970 and the `Date` they are compared with are both rounded down. */
const ROUNDED_MS = 1_000;
/** For a wait longer than this, the uncertainty about the clock is a small share. */
const SHORT_WAIT_MS = 3_000;
/** No text that states a time is longer, numbers aside. */
const LONGEST_TIME = 100;

/**
 * Reads a field that names a time, whichever it is, as milliseconds from now:
 *
 * - numbers, with or without a fraction: from now, in the unit of the field;
 * - numbers from 1e9 on: seconds, milliseconds, microseconds or nanoseconds since 1970, by size;
 * - durations: `6m0s`, `1.5s`, `120 seconds`, `PT30S`, `00:00:30`;
 * - dates in the forms of HTTP, e-mail, ISO 8601 and JavaScript. One without a zone is in GMT.
 *
 * Each may be quoted. Of several values the latest counts. A point in time is compared with the
 * server's clock, so that a server whose clock is off is still understood. Negative and malformed
 * values, and points in time that are past, count as absent. Nothing counts for more than
 * {@link LONGEST_STATED_MS}.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#field.retry-after RFC 9110, 10.2.3}
 */
export function findWaitMs(
  value: FieldValue,
  time: AnswerTime,
  field: TimeField = {},
): number | undefined {
  let latestMs: number | undefined;
  for (const member of membersOf(fieldText(value))) {
    const waitMs = waitOfText(member.replace(QUOTED, '$1').trim(), time, field);
    if (waitMs !== undefined) latestMs = Math.max(waitMs, latestMs ?? waitMs);
  }
  return latestMs;
}

const QUOTED = /^"(.*)"$/;

/** A number from here on cannot be in the next smaller unit: that would be tens of years. */
export const EPOCH_SECONDS_FROM = 1e9;
export const EPOCH_MILLISECONDS_FROM = 1e11;
const EPOCH_MICROSECONDS_FROM = 1e14;
const EPOCH_NANOSECONDS_FROM = 1e17;

/** The same for a value that is a number already. */
export function waitOfNumber(
  number: number,
  time: AnswerTime,
  { unit = 's', roundedMs = ROUNDED_MS }: TimeField = {},
): number | undefined {
  if (number >= EPOCH_NANOSECONDS_FROM) return waitUntilMs(number / 1e6, time, 0);
  if (number >= EPOCH_MICROSECONDS_FROM) return waitUntilMs(number / 1e3, time, 0);
  if (number >= EPOCH_MILLISECONDS_FROM) return waitUntilMs(number, time, 0);
  if (unit === 'ms') return Math.min(number, LONGEST_STATED_MS);
  if (number >= EPOCH_SECONDS_FROM) {
    return waitUntilMs(number * 1e3, time, Number.isInteger(number) ? roundedMs : 0);
  }
  return Math.min(number * 1e3, LONGEST_STATED_MS);
}

/** The same for a value that is a date already. */
export function waitOfDate(dateMs: number, time: AnswerTime): number | undefined {
  // A date with a fraction of a second was not rounded.
  return waitUntilMs(dateMs, time, dateMs % 1_000 === 0 ? ROUNDED_MS : 0);
}

const NUMBER = /^\d+(?:\.\d+)?$/;

/** Reads digits, with or without a fraction; no sign, no exponent. May be infinite. */
export function findNumber(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

function waitOfText(text: string, time: AnswerTime, field: TimeField): number | undefined {
  // Digits first, because a date parser takes `5` for a date.
  const number = findNumber(text);
  if (number !== undefined) return waitOfNumber(number, time, field);
  if (text.length > LONGEST_TIME) return undefined;
  const durationMs = findDurationMs(text);
  if (durationMs !== undefined) return Math.min(durationMs, LONGEST_STATED_MS);
  const dateMs = findDateMs(text);
  return dateMs === undefined ? undefined : waitOfDate(dateMs, time);
}

/** How long it is until a time in milliseconds since 1970; undefined when it is past or invalid. */
function waitUntilMs(
  untilMs: number,
  { date, nowMs, clock }: AnswerTime,
  roundedMs: number,
): number | undefined {
  const dateMs = date === undefined ? undefined : findHttpDateMs(date);
  const waitMs = untilMs - (clock?.earliestMs(nowMs) ?? dateMs ?? nowMs);
  if (!(waitMs > (clock?.roundsDown ? -roundedMs : 0))) return undefined;
  const isShort = roundedMs === 0 && waitMs < SHORT_WAIT_MS;
  const shorterMs = isShort ? Math.min(clock?.soonerMs() ?? 0, waitMs - 1) : 0;
  return Math.min(waitMs - shorterMs + roundedMs, LONGEST_STATED_MS);
}

/** A part of a duration as Go writes it, or with its unit as a word. */
const PART = /(\d+(?:\.\d+)?) ?(sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|ms|us|µs|ns|[dhms])/g;
const PARTS = new RegExp(`^(?:${PART.source} ?)+$`);
/** ISO 8601, days and smaller. */
const ISO_DURATION =
  /^P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
/** A `TimeSpan` of .NET. */
const CLOCK_DURATION = /^(?:(\d+)\.)?(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)$/;
const SECOND_MS = 1_000;
const UNIT_MS: Readonly<Record<string, number>> = {
  d: DAY_MS,
  h: HOUR_MS,
  m: MINUTE_MS,
  s: SECOND_MS,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

function findDurationMs(text: string): number | undefined {
  const [whole, ...amounts] = ISO_DURATION.exec(text) ?? CLOCK_DURATION.exec(text) ?? [];
  if (whole !== undefined) {
    // `P` alone is no duration.
    if (amounts.every((amount) => amount === undefined)) return undefined;
    const [days = 0, hours = 0, minutes = 0, seconds = 0] = amounts.map((amount) => +(amount ?? 0));
    return days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS;
  }
  if (!PARTS.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit = ''] of text.matchAll(PART)) {
    totalMs += Number(amount) * (UNIT_MS[unit] ?? UNIT_MS[unit.charAt(0)] ?? 0);
  }
  return totalMs;
}

/** ISO 8601 and its relatives: a blank for the `T`, any fraction, a zone or none, or only a day. */
const ISO_DATE =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(?:Z|UTC|GMT|([+-]\d\d)(?::?(\d\d))?)?)?$/i;
/** The format of JavaScript's `Date.toString()`, which ends in a name of the zone in any language. */
const SCRIPT_DATE =
  /^([A-Za-z]{3} [A-Za-z]{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4})(?: \([^()]+\))?$/;

function findDateMs(text: string): number | undefined {
  const [, day, clock = '00:00', hours, minutes = '00'] = ISO_DATE.exec(text) ?? [];
  const zone = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  const known = day === undefined ? SCRIPT_DATE.exec(text)?.[1] : `${day}T${clock}${zone}`;
  if (known === undefined) return findHttpDateMs(text);
  const dateMs = Date.parse(known);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

/** A server may send a field of any length. No more than this is read. */
const LONGEST_FIELD = 4_096;
export const MOST_MEMBERS = 100;

/** All lines of a field as one. A text that is too long is cut between two members. */
export function fieldText(value: FieldValue): string {
  const text = typeof value === 'string' ? value : joined(value ?? []);
  if (text.length <= LONGEST_FIELD) return text;
  const end = text.lastIndexOf(',', LONGEST_FIELD);
  return text.slice(0, end > 0 ? end : LONGEST_FIELD);
}

/** Joins lines up to the length that is read. */
function joined(lines: readonly string[]): string {
  let text = '';
  for (const line of lines) {
    text += text === '' ? line : `, ${line}`;
    if (text.length > LONGEST_FIELD) break;
  }
  return text;
}

/** Any comma but the one after the name of a day, which is in the middle of a date. */
const COMMA = /(?<!\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?),/i;

/** The members of a field that is not structured. */
export function membersOf(text: string): readonly string[] {
  if (!text.includes(',')) return [text.trim()];
  return text.split(COMMA, MOST_MEMBERS).map((member) => member.trim());
}

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
      const noted = {
        leastMs: dateMs - nowMs,
        mostMs: dateMs + DATE_MS + STALE_MS - sentMs,
        notedMs: nowMs,
      };
      answers += 1;
      const common = lead && intersect(lead, noted);
      if (lead && !common) contradictions += 1;
      lead = common ?? noted;
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
function intersect(known: Lead, noted: Lead): Lead | undefined {
  const drift = driftMs(known, noted.notedMs);
  const leastMs = Math.max(known.leastMs - drift, noted.leastMs);
  const mostMs = Math.min(known.mostMs + drift, noted.mostMs);
  return leastMs <= mostMs ? { leastMs, mostMs, notedMs: noted.notedMs } : undefined;
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
