import { BrandfillError } from '../../common/errors.ts';
import type { CalendarUnit, CallsPer } from '../../guard/shared-budget.ts';

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
