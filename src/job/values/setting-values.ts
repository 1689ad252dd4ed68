import { isReservedHeader } from '../../brand/credential.ts';
import type { NameValue } from '../../brand/endpoint.ts';
import { BrandfillError } from '../../common/errors.ts';
import { describeKind } from '../../common/printable.ts';
import type { SettingDefinition } from '../read-settings.ts';
import { parseDuration, typedDuration } from './duration.ts';

// Readers of values, from the command line (texts) and from programs alike. Each throws an error
// that says what was expected; the caller adds the name of the setting.

const A_TEXT = 'a text';

export function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw expected(A_TEXT, value);
  return value;
}

/** One path or several, each with the ending of a page or of data. */
export function reportPaths(value: unknown): readonly string[] {
  return [value].flat().map((item: unknown) => {
    const path = text(item);
    if (/[^/\\]\.(html?|json)$/i.test(path)) return path;
    throw expected('a file whose name ends in .html or .json', item);
  });
}

export function possiblyEmptyText(value: unknown): string {
  if (typeof value !== 'string') throw expected(A_TEXT, value);
  return value;
}

export function flag(value: unknown): boolean {
  if (value === 'true' || value === 'false') {
    throw expected('true or false without quotes', value);
  }
  if (typeof value !== 'boolean') throw expected('true or false', value);
  return value;
}

/** Makes a reader of a whole number with these bounds, both included. */
export function integer(
  from: number,
  to: number,
): Required<Pick<SettingDefinition<number>, 'range' | 'parse'>> {
  const isOpen = to === Number.MAX_SAFE_INTEGER;
  const bounds = isOpen ? `${from} or more` : `from ${from} to ${to}`;
  return {
    range: isOpen ? { from } : { from, to },
    parse: (value) => {
      const number =
        typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
      if (Number.isInteger(number) && Number(number) >= from && Number(number) <= to) {
        return Number(number);
      }
      throw expected(`a whole number, ${bounds}`, value);
    },
  };
}

/** A duration, or a number of milliseconds; whole ones come out. */
export function duration(fromMs: number, toMs: number): (value: unknown) => number {
  return (value) => {
    const ms = typeof value === 'number' ? value : parseDuration(text(value));
    if (ms >= fromMs && ms <= toMs) return Math.round(ms);
    const isOpen = toMs === Number.MAX_SAFE_INTEGER;
    const bounds = `${fromMs > 0 ? `from ${typedDuration(fromMs)} to` : 'up to'} ${typedDuration(toMs)}`;
    throw expected(isOpen ? 'a duration such as 30d' : `a duration ${bounds} such as 60s`, value);
  };
}

/** `1MB`, or a number of bytes. */
export function size(value: unknown): number {
  if (typeof value === 'string' || typeof value === 'number') return parseSize(String(value));
  throw expected('a size such as 64MB', value);
}

/** `20%` or `0.2`, as a number from 0 to 1. */
export function share(value: unknown): number {
  const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(String(value).trim()) ?? [];
  const number = sign === '%' ? Number(digits) / 100 : Number(digits);
  if (number >= 0 && number <= 1) return number;
  throw expected('a share from 0% to 100%, such as 20%', value);
}

export function nameValues(value: unknown): readonly NameValue[] {
  if (isRecord(value)) return Object.entries(value).map(toNameValue);
  const pairs = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(pairs)) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `expected NAME=VALUE, or an object of texts by name, received ${describeKind(value)}`,
    );
  }
  return pairs.map((pair: unknown) => {
    const [, name, rest] = /^([^=]+)=(.*)$/s.exec(typeof pair === 'string' ? pair : '') ?? [];
    if (name === undefined || rest === undefined) {
      // The value may be a credential in the wrong place, so it is not repeated.
      throw new BrandfillError('INVALID_SETTING', 'expected NAME=VALUE');
    }
    return [name.trim(), rest];
  });
}

/**
 * A value that is missing, or is one of many, would be sent as `undefined` or `[object Object]`.
 */
function toNameValue([name, value]: [string, unknown]): NameValue {
  if (typeof value === 'string') return [name, value];
  if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected a text as the value of '${name}', received ${describeKind(value)}`,
  );
}

export function headers(value: unknown): readonly NameValue[] {
  const pairs = nameValues(value);
  for (const [name, content] of pairs) {
    if (/^(proxy-)?authorization$|^cookie$/i.test(name)) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `'${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file`,
      );
    }
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
      // Not repeated either: it may be a whole `Authorization: …`.
      throw new BrandfillError(
        'INVALID_SETTING',
        'expected NAME=VALUE, NAME being the name of an HTTP header',
      );
    }
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(content)) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `the value of '${name}' has characters that no header can carry`,
      );
    }
    if (isReservedHeader(name)) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `'${name}' is set by Brandfill itself; leave it out`,
      );
    }
  }
  return pairs;
}

/**
 * Whether a value has members by name. Those of a list, a Map, Headers or URLSearchParams would not
 * be seen.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value);
}

function expected(what: string, received: unknown): BrandfillError {
  return new BrandfillError(
    'INVALID_SETTING',
    `expected ${what}, received ${shown(received, what)}`,
  );
}

/**
 * Quotes a value. A number where a text was expected, or a list or URL anywhere, would otherwise
 * look like a text.
 */
function shown(received: unknown, what: string): string {
  const isShown = typeof received === 'number' || typeof received === 'boolean';
  if (typeof received === 'string' || (isShown && what !== A_TEXT)) return `'${received}'`;
  return describeKind(received);
}

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
