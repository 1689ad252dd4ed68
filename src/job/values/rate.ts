import { BrandfillError } from '../../common/errors.ts';
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
