/** A number with so many decimals at most. */
export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The same of a number that may not be known. */
export function roundOrNull(value: number | undefined, digits: number): number | null {
  return value === undefined ? null : round(value, digits);
}
