const UNITS: readonly (readonly [perSecond: number, name: string])[] = [
  [1, 's'],
  [60, 'min'],
  [3_600, 'h'],
];

/** Writes calls per second for people: `50/s`, `2.5/s`, `6/min`, `30/h`. */
export function formatRate(perSecond: number): string {
  const [seconds, name] = UNITS.find(([seconds]) => perSecond * seconds >= 0.9995) ?? [86_400, 'd'];
  const count = perSecond * seconds;
  const digits = count < 10 ? 1 : 0;
  return `${formatCount(Number(count.toFixed(digits)))}/${name}`;
}

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
