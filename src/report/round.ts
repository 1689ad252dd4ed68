/** A number with at most this many decimals. */
export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The same for a number that may be unknown. */
export function roundOrNull(value: number | undefined, digits: number): number | null {
  return value === undefined ? null : round(value, digits);
}
