/** `1,204`. */
export function formatCount(amount: number): string {
  return amount.toLocaleString('en-US');
}

/** `1,204 rows`, `1 row`. */
export function countOf(amount: number, noun: string): string {
  return `${formatCount(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}

const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact' });

/** `1.2K`, `58K`, `3M`, for where there is little room. */
export function formatShortCount(amount: number): string {
  return SHORT.format(amount);
}
