/** The median of numbers, and how far they spread. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @throws RangeError when there are no numbers */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined)
    throw new RangeError('Expected a number, got none');
  const upper = sorted[sorted.length >> 1] ?? most;
  const lower = sorted[(sorted.length - 1) >> 1] ?? least;
  return { median: (lower + upper) / 2, least, most };
}

/** The median of a function's values over the items. */
export function medianOf<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return spreadOf(items.map(valueOf)).median;
}
