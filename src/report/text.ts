/**
 * Makes a text from a list or an API fit for a report: without characters that control a terminal
 * or hide what is written, and no longer than `most` characters.
 */
export function shortenTo(text: string, most: number): string {
  // Cut first: a cell may have megabytes.
  const start = text.length > 4 * most ? text.slice(0, 4 * most) : text;
  const printable = start.replaceAll(UNPRINTABLE, ' ').trim();
  const characters = Array.from(printable);
  const isWhole = characters.length <= most && start.length === text.length;
  return isWhole ? printable : `${characters.slice(0, most).join('')}…`;
}

/** Control characters, marks that turn the direction of a text around, and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]+/gu;

/** A number with at most this many decimals. */
export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The same for a number that may be unknown. */
export function roundOrNull(value: number | undefined, digits: number): number | null {
  return value === undefined ? null : round(value, digits);
}
