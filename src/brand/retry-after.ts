/**
 * Reads `Retry-After`: seconds or an HTTP date, as milliseconds from now. Digits are tried first,
 * because a date parser takes `5` for a date. Of several values the longest counts. Negative, empty
 * and malformed values, and dates in the past, count as absent. A date is taken relative to the
 * answer's own `Date`, so that a server whose clock is off is still understood, plus one second,
 * because both are rounded down. Nothing counts for more than a year.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#field.retry-after RFC 9110, 10.2.3}
 */
export function parseRetryAfter(
  value: string | readonly string[] | undefined,
  context: { readonly date: string | undefined; readonly nowMs: number },
): number | undefined {
  if (value === undefined) return undefined;
  const waits = (typeof value === 'string' ? [value] : value)
    .flatMap((field) => (isDate(field) ? [field] : field.split(',')))
    .map((text) => waitMs(text.trim(), context))
    .filter((wait) => wait !== undefined);
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

/** The three forms of RFC 9110, 5.6.7. `Date.parse` takes far more, `retry 3600` for one. */
const HTTP_DATE = /^[A-Za-z]{3,9}, \d{2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
const YEAR_MS = 31_536_000_000;

function isDate(field: string): boolean {
  return HTTP_DATE.test(field.trim()) || ASCTIME.test(field.trim());
}

function waitMs(
  text: string,
  { date, nowMs }: { readonly date: string | undefined; readonly nowMs: number },
): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1_000, YEAR_MS);
  if (!isDate(text)) return undefined;
  const until = Date.parse(ASCTIME.test(text) ? `${text} GMT` : text);
  const serverNow = date === undefined ? Number.NaN : Date.parse(date);
  const wait = until - (Number.isNaN(serverNow) ? nowMs : serverNow);
  return wait > 0 ? Math.min(wait + 1_000, YEAR_MS) : undefined;
}
