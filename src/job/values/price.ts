import { BrandfillError } from '../../common/errors.ts';

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

/** An amount of money for people: `0.01`, `1,234.50`, `0.000125`. */
export function formatPrice(amount: number): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 6 };
  return amount.toLocaleString('en-US', digits);
}
