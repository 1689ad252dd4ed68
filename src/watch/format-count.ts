/** `1,204`. */
export function formatCount(amount: number): string {
  return amount.toLocaleString('en-US');
}

/** `1,204 rows`, `1 row`. */
export function countOf(amount: number, noun: string): string {
  return `${formatCount(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}
