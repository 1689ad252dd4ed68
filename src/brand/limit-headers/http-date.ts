/** The three forms of RFC 9110, 5.6.7. `Date.parse` accepts far more, such as `retry 3600`. */
const HTTP_DATE = /^[A-Za-z]{3,9}, \d{2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
/** No text that states a time is longer. */
export const LONGEST_TIME = 64;

/** Whether a text is a date in one of the forms of HTTP. */
export function isHttpDate(text: string): boolean {
  return text.length <= LONGEST_TIME && (HTTP_DATE.test(text) || ASCTIME.test(text));
}

/** A date in one of the forms of HTTP, in milliseconds since 1970; undefined for any other text. */
export function findHttpDateMs(text: string): number | undefined {
  if (!isHttpDate(text)) return undefined;
  const ms = Date.parse(ASCTIME.test(text) ? `${text} GMT` : text);
  return Number.isNaN(ms) ? undefined : ms;
}
