import type { AnswerTime } from './field.ts';

/** Nothing that a server says counts for longer. */
export const YEAR_MS = 31_536_000_000;
/** Both a date and the `Date` it is compared with are rounded down to whole seconds. */
const ROUNDED_MS = 1_000;

/** The three forms of RFC 9110, 5.6.7. `Date.parse` takes far more, `retry 3600` for one. */
const HTTP_DATE = /^[A-Za-z]{3,9}, \d{2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
/** ISO 8601 and its relatives: a blank for the `T`, any fraction, a zone or none. */
const ISO_DATE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(?:Z|UTC|GMT)?$/i;
const ISO_WITH_OFFSET =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?([+-]\d\d):?(\d\d)$/i;
/** As JavaScript writes a date when it is not told how. */
const SCRIPT_DATE =
  /^[A-Za-z]{3} [A-Za-z]{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}(?: \([\w ]+\))?$/;
const NUMBER = /^\d+(?:\.\d+)?$/;
/** No text that means a time is longer. */
const LONGEST_TIME = 64;

/** Whether a text is a date in one of the forms of HTTP. */
export function isHttpDate(text: string): boolean {
  return text.length <= LONGEST_TIME && (HTTP_DATE.test(text) || ASCTIME.test(text));
}

/** Reads digits, with a fraction or without; no sign, no exponent. May be endless. */
export function findNumber(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/**
 * How long it is until a date in one of the forms of HTTP, by the clock of the server if it told its
 * time. A date in the past counts as absent.
 */
export function findHttpDateWaitMs(text: string, time: AnswerTime): number | undefined {
  if (!isHttpDate(text)) return undefined;
  return waitUntilMs(Date.parse(ASCTIME.test(text) ? `${text} GMT` : text), time);
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
  { date, nowMs }: AnswerTime,
  roundedMs: number = ROUNDED_MS,
): number | undefined {
  const serverNowMs = date === undefined || !isHttpDate(date) ? Number.NaN : Date.parse(date);
  const waitMs = untilMs - (Number.isNaN(serverNowMs) ? nowMs : serverNowMs);
  return waitMs > 0 ? Math.min(waitMs + roundedMs, YEAR_MS) : undefined;
}
