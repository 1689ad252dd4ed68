import type { AnswerTime } from './field.ts';
import { findHttpDateMs, LONGEST_TIME } from './http-date.ts';

/** No time that a server states counts for longer. */
export const YEAR_MS = 31_536_000_000;
/** Both a date and the `Date` it is compared with are rounded down to whole seconds. */
export const ROUNDED_MS = 1_000;
/** For a wait longer than this, the uncertainty about the clock is a small share. */
const SHORT_WAIT_MS = 3_000;

/** ISO 8601 and its relatives: a blank for the `T`, any fraction, a zone or none. */
const ISO_DATE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(?:Z|UTC|GMT)?$/i;
const ISO_WITH_OFFSET =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?([+-]\d\d):?(\d\d)$/i;
/** The format of JavaScript's `Date.toString()`. */
const SCRIPT_DATE =
  /^[A-Za-z]{3} [A-Za-z]{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}(?: \([\w ]+\))?$/;
const NUMBER = /^\d+(?:\.\d+)?$/;

/** Reads digits, with or without a fraction; no sign, no exponent. May be infinite. */
export function findNumber(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/**
 * How long it is until a date in one of the forms of HTTP, by the server's clock if the answer has
 * a `Date`. A date in the past counts as absent.
 */
export function findHttpDateWaitMs(text: string, time: AnswerTime): number | undefined {
  const untilMs = findHttpDateMs(text);
  return untilMs === undefined ? undefined : waitUntilMs(untilMs, time);
}

/** The same for other formats of dates. A date without a zone is in GMT. */
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

/** How long it is until a time in milliseconds since 1970; undefined when it is past or invalid. */
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
