import { BrandfillError } from '../../common/errors.ts';

const UNIT_BYTES: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['B', 1],
  ['KB', 1_000],
  ['MB', 1_000_000],
  ['GB', 1_000_000_000],
  ['KIB', 1_024],
  ['MIB', 1_024 ** 2],
  ['GIB', 1_024 ** 3],
]);

/**
 * Reads a size such as `64MB`, `1GB` or `500000` as bytes. `MB` is a million bytes, `MiB` 1,024 times
 * 1,024.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else, zero included.
 */
export function parseSize(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const bytes = Math.floor(Number(number) * (UNIT_BYTES.get(unit.toUpperCase()) ?? Number.NaN));
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected a size such as 64MB, 1GB or a number of bytes, received '${text}'`,
  );
}
