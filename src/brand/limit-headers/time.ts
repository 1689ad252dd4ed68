import type { AnswerTime } from './field.ts';
import { findHttpDateMs, LONGEST_TIME } from './http-date.ts';

/** Nothing that a server says counts for longer. */
export const YEAR_MS = 31_536_000_000;
/** Both a date and the `Date` it is compared with are rounded down to whole seconds. */
export const ROUNDED_MS = 1_000;
/** Of a wait that is longer than this, what is not known of a clock is a small share. */
const SHORT_WAIT_MS = 3_000;

/** ISO 8601 and its relatives: a blank for the `T`, any fraction, a zone or none. */
const ISO_DATE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(?:Z|UTC|GMT)?$/i;
const ISO_WITH_OFFSET =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?([+-]\d\d):?(\d\d)$/i;
/** As JavaScript writes a date when it is not told how. */
const SCRIPT_DATE =
  /^[A-Za-z]{3} [A-Za-z]{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}(?: \([\w ]+\))?$/;
const NUMBER = /^\d+(?:\.\d+)?$/;

/** Reads digits, with a fraction or without; no sign, no exponent. May be endless. */
export function findNumber(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/**
 * How long it is until a date in one of the forms of HTTP, by the clock of the server if it told its
 * time. A date in the past counts as absent.
 */
export function findHttpDateWaitMs(text: string, time: AnswerTime): number | undefined {
  const untilMs = findHttpDateMs(text);
  return untilMs === undefined ? undefined : waitUntilMs(untilMs, time);
}

/** The same for the other ways in which dates are written. Without a zone, GMT is meant. */
export function findDateWaitMs(text: string, time: AnswerTime): number | undefined {
  if (text.length > LONGEST_TIME) return undefined;
  const [, day, clock] = ISO_DATE.exec(text) ?? [];
  if (day !== undefined) return waitUntilMs(Date.parse(`${day}T${clock}Z`), time);
  const [, localDay, localClock, hours, minutes] = ISO_WITH_OFFSET.exec(text) ?? [];
  if (localDay !== undefined) {
    return waitUntilMs(Date.parse(`${localDay}T${localClock}${hours}:${minutes}`), time);
  }
  if (SCRIPT_DATE.test(text)) return waitUntilMs(Date.parse(text), time);
  return findHttpDateWaitMs(text, time);
}

/** How long it is until a time in milliseconds since 1970; undefined when it is past or no time. */
export function waitUntilMs(
  untilMs: number,
  { date, nowMs, clock }: AnswerTime,
  roundedMs: number = ROUNDED_MS,
): number | undefined {
  const dateMs = date === undefined ? undefined : findHttpDateMs(date);
  const waitMs = untilMs - (clock?.earliestMs(nowMs) ?? dateMs ?? nowMs);
  if (!(waitMs > (clock?.roundsDown ? -roundedMs : 0))) return undefined;
  const isShort = roundedMs === 0 && waitMs < SHORT_WAIT_MS;
  const shorterMs = isShort ? Math.min(clock?.soonerMs() ?? 0, waitMs - 1) : 0;
  return Math.min(waitMs - shorterMs + roundedMs, YEAR_MS);
}
