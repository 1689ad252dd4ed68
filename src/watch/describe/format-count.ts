/**
 * `1,204`. Does not use Intl: its first use takes longer than a plan, and every run prints a plan.
 */
export function formatCount(amount: number): string {
  return String(amount).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1,204 rows`, `1 row`. */
export function countOf(amount: number, noun: string, nouns: string = `${noun}s`): string {
  return `${formatCount(amount)} ${amount === 1 ? noun : nouns}`;
}

let short: Intl.NumberFormat | undefined;

/** `1.2K`, `58K`, `3M`, for where there is little room. */
export function formatShortCount(amount: number): string {
  short ??= new Intl.NumberFormat('en-US', { notation: 'compact' });
  return short.format(amount);
}
