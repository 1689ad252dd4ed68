import { type AnswerTime, type FieldValue, fieldText, membersOf } from './limit-headers/field.ts';
import { isHttpDate } from './limit-headers/http-date.ts';
import { findHttpDateWaitMs, findNumber, YEAR_MS } from './limit-headers/time.ts';

/**
 * Reads `Retry-After`, seconds or an HTTP date, as milliseconds from now. Digits are tried first,
 * because a date parser takes `5` for a date. Of several values the longest counts. Negative, empty
 * and malformed values, and dates in the past, count as absent. A date is compared with the
 * answer's own `Date`, so that a server whose clock is off is still understood. One second is
 * added, because both are rounded down. Nothing counts for more than a year.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#field.retry-after RFC 9110, 10.2.3}
 */
export function parseRetryAfter(value: FieldValue, time: AnswerTime): number | undefined {
  if (value === undefined) return undefined;
  const lines = typeof value === 'string' ? [value] : value.slice(0, MOST_LINES);
  return longest(
    lines
      .flatMap((line) => (isHttpDate(line.trim()) ? [line.trim()] : membersOf(fieldText(line))))
      .map((text) => secondsAsMs(text) ?? findHttpDateWaitMs(text, time)),
  );
}

/**
 * Reads `retry-after-ms`, which some APIs send beside `Retry-After` for more precision than a
 * second.
 */
export function parseRetryAfterMs(value: FieldValue): number | undefined {
  return longest(
    membersOf(fieldText(value)).map((text) => {
      const waitMs = findNumber(text);
      return waitMs === undefined ? undefined : Math.min(waitMs, YEAR_MS);
    }),
  );
}

/** Servers send one line. More lines than this are not worth the time. */
const MOST_LINES = 10;

function secondsAsMs(text: string): number | undefined {
  const seconds = findNumber(text);
  return seconds === undefined ? undefined : Math.min(seconds * 1_000, YEAR_MS);
}

function longest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}
