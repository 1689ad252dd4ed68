import { BrandfillError } from '../../common/errors.ts';
import type { CalendarUnit, CallsPer } from '../../guard/shared-budget.ts';
import type { Rate } from '../../pace/rate.ts';

const UNIT_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    s: 1_000,
    sec: 1_000,
    second: 1_000,
    m: 60_000,
    min: 60_000,
    minute: 60_000,
    h: 3_600_000,
    hour: 3_600_000,
    d: 86_400_000,
    day: 86_400_000,
  }),
);

/** The starts of one unit are remembered, so this bounds memory. */
const MOST_PER_UNIT = 1_000_000;

/**
 * Reads a rate such as `20/s`, `300/min` or `5000/day`; `auto` is no fixed rate.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else, zero included.
 */
export function parseRate(text: string): Rate | 'auto' {
  if (text.trim() === 'auto') return 'auto';
  const match = /^(\d+(?:\.\d+)?)\s*\/\s*([a-z]+)$/.exec(text.trim());
  const count = Number(match?.[1]);
  const perMs = UNIT_MS.get(match?.[2] ?? '');
  if (!(count > 0 && count <= MOST_PER_UNIT) || perMs === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `expected a rate such as 20/s, 300/min or 5000/day, or auto, received '${text}'`,
    );
  }
  return { count, perMs };
}

const UNITS: ReadonlyMap<string, CalendarUnit> = new Map([
  ['min', 'minute'],
  ['minute', 'minute'],
  ['h', 'hour'],
  ['hour', 'hour'],
  ['d', 'day'],
  ['day', 'day'],
  ['month', 'month'],
]);

/**
 * Reads a number of calls per unit of time, such as `1000/day`. `m` may be a minute or a month and
 * is refused.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else, zero included
 */
export function parseCallsPer(text: string): CallsPer {
  const [, digits, name = ''] = /^(\d+)\s*\/\s*([a-z]+)$/.exec(text.trim()) ?? [];
  const count = Number(digits);
  const unit = UNITS.get(name);
  if (!Number.isSafeInteger(count) || count === 0 || unit === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `expected calls per min, hour, day or month such as 1000/day, received '${text}'`,
    );
  }
  return { count, unit };
}

const MICROS = 1_000_000;
const MOST = 1_000_000;

/**
 * Reads the price of a call: a decimal number with at most six decimals, in whatever currency.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else
 */
export function parsePrice(value: unknown): number {
  const text = String(value).trim();
  const number = Number(text);
  if (/^\d+(\.\d{1,6})?$/.test(text) && number <= MOST) return number;
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected what a call costs as a number with a point, at most six decimals and no currency, such as 0.01, received '${text}'`,
  );
}

/** The cost of calls, exact to the last decimal: three at 0.1 are 0.3. */
export function costOf(calls: number, price: number): number {
  const micros = BigInt(calls) * BigInt(Math.round(price * MICROS));
  const fraction = String(micros % BigInt(MICROS)).padStart(6, '0');
  return Number(`${micros / BigInt(MICROS)}.${fraction}`);
}

/** The cost of units that an API billed, in millionths of a unit, exact to the last decimal. */
export function costOfUnits(unitMicros: number, price: number): number {
  const picos = BigInt(unitMicros) * BigInt(Math.round(price * MICROS));
  const scale = BigInt(MICROS) * BigInt(MICROS);
  return Number(`${picos / scale}.${String(picos % scale).padStart(12, '0')}`);
}

/** What was billed, from millionths of a unit. */
export function billOf(unitMicros: number, unit: string): { units: number; unit: string } {
  return { units: unitMicros / MICROS, unit };
}

/** An amount of units in millionths of one. */
export function microsOf(units: number | undefined): number | undefined {
  return units === undefined ? undefined : Math.round(units * MICROS);
}

/**
 * Reads the most that a run may cost, in the units that the API bills: a decimal number above zero
 * with at most six decimals.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else
 */
export function parseMaxCost(value: unknown): number {
  const text = String(value).trim();
  const number = Number(text);
  if (/^\d+(\.\d{1,6})?$/.test(text) && number > 0 && number <= MOST * 1_000) return number;
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected a number of units, such as 500, received '${text}'`,
  );
}

/** What was billed, for people: `140 credits`, `0.5 calls`. */
export function formatUnits({ units, unit }: { units: number; unit: string }): string {
  return `${units.toLocaleString('en-US', { maximumFractionDigits: 6 })} ${unit}`;
}

/** An amount of money for people: `0.01`, `1,234.50`, `0.000125`. */
export function formatPrice(amount: number): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 6 };
  return amount.toLocaleString('en-US', digits);
}
