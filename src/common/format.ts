// Values in the words of people: counts, rates, durations, sizes, prices.

const RATE_UNITS: readonly (readonly [perSecond: number, name: string])[] = [
  [1, 's'],
  [60, 'min'],
  [3_600, 'h'],
];

/** Writes calls per second for people: `50/s`, `2.5 calls/s`, `6/min`, `30/h`. */
export function formatRate(perSecond: number, noun = ''): string {
  const [seconds, name] = RATE_UNITS.find(([seconds]) => perSecond * seconds >= 0.9995) ?? [
    86_400,
    'd',
  ];
  const count = perSecond * seconds;
  const digits = count < 10 ? 1 : 0;
  return `${formatCount(Number(count.toFixed(digits)))}${noun}/${name}`;
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

export const MINUTE_MS: number = 60_000;
export const HOUR_MS: number = 60 * MINUTE_MS;
export const DAY_MS: number = 24 * HOUR_MS;

/** The units of durations, in milliseconds. */
export const DURATION_UNITS_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ms: 1,
    s: 1_000,
    min: MINUTE_MS,
    m: MINUTE_MS,
    h: HOUR_MS,
    d: DAY_MS,
    w: 7 * DAY_MS,
  }),
);

/** Writes milliseconds as a user types them, in whole days, hours … but no weeks: `1s`, `24d`. */
export function typedDuration(ms: number): string {
  for (const unit of ['d', 'h', 'min', 's']) {
    const unitMs = DURATION_UNITS_MS.get(unit) ?? 1;
    if (ms >= unitMs) return `${Math.floor(ms / unitMs)}${unit}`;
  }
  return `${ms}ms`;
}

/** Writes milliseconds for people: `850 ms`, `12 s`, `4 min 10 s`, `3 h 5 min`, `30 d`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

/** Writes bytes for people: `512 B`, `1.2 MB`, `34 GB`; a MB is a million bytes. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value.toFixed(unit > 0 && value < 9.95 ? 1 : 0)} ${BYTE_UNITS[unit]}`;
}

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

export const MICROS = 1_000_000;

/** The cost of calls or units, exact to the last decimal: three at 0.1 are 0.3. */
export function costOf(count: number, price: number): number {
  return round(count * price, 9);
}

/** What was billed, from millionths of a unit. */
export function billOf(unitMicros: number, unit: string): { units: number; unit: string } {
  return { units: unitMicros / MICROS, unit };
}

/** An amount of units in millionths of one. */
export function microsOf(units: number | undefined): number | undefined {
  return units === undefined ? undefined : Math.round(units * MICROS);
}

/** What was billed, for people: `140 credits`, `0.5 calls`. */
export function formatUnits({ units, unit }: { units: number; unit: string }): string {
  return `${formatPrice(units).replace(/\.00$|0$/, '')} ${unit}`;
}

/** An amount of money for people: `0.01`, `1,234.50 EUR`, `0.000125`. */
export function formatPrice(amount: number, currency?: string): string {
  const [, whole = '', cents, rest] = /^(\d+)\.(\d\d)(\d*?)0*$/.exec(amount.toFixed(6)) ?? [];
  return `${formatCount(Number(whole))}.${cents}${rest}${currency === undefined ? '' : ` ${currency}`}`;
}

/** A number with at most this many decimals. */
export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
