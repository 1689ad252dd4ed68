import { z } from 'zod';
import { type AuthScheme, isReservedHeader, parseAuth } from '../brand/credential.ts';
import { type NameValue, parseBaseUrl } from '../brand/endpoint.ts';
import type { CallsPer } from '../calls/budget.ts';
import type { Rate } from '../calls/rate.ts';
import { createField, type Field, parseFields, parseFills } from '../collector/fields/fields.ts';
import { STANDARD_NAME, standardFields } from '../collector/fields/standard.ts';
import { type AllowedHost, parseAllowedHost, parseRedisUrl } from '../common/addresses.ts';
import { refusal } from '../common/errors.ts';
import { DURATION_UNITS_MS, typedDuration } from '../common/format.ts';
import { LONGEST_TIMER_MS } from '../common/lifetime.ts';
import { describeKind, isTimezone } from '../common/text.ts';
import { type Encoding, findEncodingByName } from '../rows/encoding.ts';
import { expected, kind } from './option.ts';

// Kinds of values, with the message for what does not fit.

type KindMeta = Parameters<typeof kind>[2];

const received = (what: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    `expected ${what}, received ${input === '' ? "''" : describeKind(input)}`,
});

/** What came instead is not repeated: it may be a credential in the wrong place. */
export const someText = z.string(received('a text')).min(1, received('a text'));

/** A text that is not empty, and what reads it. */
const textAs = <T>(placeholder: string, read: (given: string) => T, meta: KindMeta = {}) =>
  kind(someText, read, { placeholder, ...meta });

const asIs = (given: string): string => given;

/** What is written as a text or as a number. `read` gives nothing for what does not fit. */
function written<T>(
  placeholder: string,
  what: string,
  read: (given: string | number) => T | undefined,
) {
  const shape = z.union([z.string(), z.number()], { error: ({ input }) => expected(what, input) });
  return kind(
    shape as z.ZodType<string | number, string | number>,
    (given) => {
      const value = read(given);
      if (value === undefined) throw refusal(expected(what, given));
      return value;
    },
    { placeholder },
  );
}

/** A switch. */
export const flag = () =>
  z.boolean({
    error: ({ input }) => {
      const isQuoted = input === 'true' || input === 'false';
      return expected(`true or false${isQuoted ? ' without quotes' : ''}`, input);
    },
  });

/** A text that is not empty. */
export const text = (placeholder: string) => textAs(placeholder, asIs);

/** A text that may be empty. */
export const anyText = () => kind(z.string(received('a text')), asIs, { placeholder: 'TEXT' });

export const file = (placeholder = 'FILE') => textAs(placeholder, asIs, { isPath: () => true });

/** A file that cannot be standard output, where the rows go. */
export const namedFile = () =>
  textAs(
    'FILE',
    (path) => {
      if (path !== '-') return path;
      throw refusal('expected a file: standard output is for the rows');
    },
    { isPath: () => true },
  );

/** One of some words. */
export const oneOf = <const W extends string>(...words: readonly W[]) => {
  const what = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  const shape = z.enum(words, { error: ({ input }) => expected(what, input) });
  return kind(shape as unknown as z.ZodType<W, W>, (word) => word, { placeholder: what });
};

type OneOrMore = string | readonly string[];
const texts = z.union([someText, z.array(someText)], {
  error: ({ input }) => {
    const wrong = [input].flat().find((one) => typeof one !== 'string' || one === '');
    return `expected a text, received ${wrong === '' ? "''" : describeKind(wrong)}`;
  },
}) as z.ZodType<OneOrMore, OneOrMore>;

/** One text or several, each read. */
const textsAs = <T>(placeholder: string, read: (given: string) => T, meta: KindMeta = {}) =>
  kind(texts, (given): readonly T[] => [given].flat().map(read), {
    placeholder,
    isRepeatable: true,
    ...meta,
  });

/** One file or several, each with the ending of a page or of data. */
export const reports = () =>
  textsAs(
    'FILE',
    (path) => {
      if (/[^/\\]\.(html?|json)$/i.test(path)) return path;
      throw refusal(expected('a file whose name ends in .html or .json', path));
    },
    { isPath: () => true },
  );

const NEXT = ['not_found', 'rejected', 'failed'] as const;

/** Outcomes after which another API is asked, as a list or in a text with commas. */
export const next = () =>
  kind(
    texts,
    (given): ReadonlySet<(typeof NEXT)[number]> =>
      new Set(
        [given].flat().flatMap((one) =>
          one.split(',').map((word) => {
            const known = NEXT.find((each) => each === word.trim());
            if (known === undefined) throw refusal(expected(NEXT.join(', '), word));
            return known;
          }),
        ),
      ),
    { placeholder: 'OUTCOME,…' },
  );

/** `HOST` or `HOST:PORT`, each. */
export const hosts = () => textsAs('HOST', (given): AllowedHost => parseAllowedHost(given));

/** A whole number with these bounds, both included. */
export function integer(from: number, to: number = Number.MAX_SAFE_INTEGER) {
  const isOpen = to === Number.MAX_SAFE_INTEGER;
  const what = `a whole number, ${isOpen ? `${from} or more` : `from ${from} to ${to}`}`;
  return written('N', what, (given) => {
    const number = /^\s*\d+\s*$/.test(String(given)) ? Number(given) : Number.NaN;
    return number >= from && number <= to && Number.isSafeInteger(number) ? number : undefined;
  });
}

/** A duration, or a number of milliseconds; whole ones come out. */
export function duration(fromMs = 0, toMs: number = LONGEST_TIMER_MS) {
  const bounds = `${fromMs > 0 ? `from ${typedDuration(fromMs)} to` : 'up to'} ${typedDuration(toMs)}`;
  const what =
    toMs === LONGEST_TIMER_MS ? `a duration ${bounds} such as 60s` : 'a duration such as 30d';
  return written('DURATION', what, (given) => {
    const ms = typeof given === 'number' ? given : parseDuration(given);
    return ms >= fromMs && ms <= toMs ? Math.round(ms) : undefined;
  });
}

export const anyDuration = () => duration(0, Number.MAX_SAFE_INTEGER);

/**
 * Reads a duration such as `250ms`, `60s`, `10min`, `12h`, `30d` or `2w` as whole milliseconds.
 * `0` needs no unit.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else.
 */
export function parseDuration(given: string): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(given.trim()) ?? [];
  const unitMs = unit === '' && Number(digits) === 0 ? 1 : DURATION_UNITS_MS.get(unit);
  // 16.1 times a thousand is 16100.000000000002, which Redis refuses as a time.
  if (digits !== undefined && unitMs !== undefined) return Math.round(Number(digits) * unitMs);
  throw refusal(expected('a duration such as 500ms, 60s, 10min, 12h or 30d', given));
}

/** `20%` or `0.2`, as a number from 0 to 1. */
export const share = () =>
  written('SHARE', 'a share from 0% to 100%, such as 20%', (given) => {
    const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(String(given).trim()) ?? [];
    const number = Number(digits) / (sign === '%' ? 100 : 1);
    return number <= 1 ? number : undefined;
  });

/** A number with at most six decimals, up to a billion. */
const DECIMAL = /^\s*(\d+(?:\.\d{1,6})?)(?:\s+(\p{L}{1,8}|\p{Sc}))?\s*$/u;
const MOST_DECIMAL = 1e9;

/** What one costs, with its currency if that was given. */
export interface Price {
  readonly amount: number;
  readonly currency?: string | undefined;
}

/** `0.01` or `0.01 EUR`. */
export const price = () =>
  written(
    'PRICE',
    'what a call costs as a number with a point and at most six decimals, such as 0.01 or "0.01 EUR"',
    (given): Price | undefined => {
      const [, amount = Number.NaN, currency] = DECIMAL.exec(String(given)) ?? [];
      return Number(amount) <= MOST_DECIMAL ? { amount: Number(amount), currency } : undefined;
    },
  );

/** What an API bills, from a millionth on. */
export const units = () =>
  written('NUMBER', 'a number of units, such as 500', (given) => {
    const [, digits, unit] = DECIMAL.exec(String(given)) ?? [];
    const number = Number(digits);
    return unit === undefined && number > 0 && number <= MOST_DECIMAL ? number : undefined;
  });

const UNITS_MS = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** The starts of one unit are remembered, so this bounds memory. */
const MOST_PER_UNIT = 1_000_000;

/** `20/s`, `300/min` or `5000/day`; `auto` is no fixed rate. */
export const rate = () =>
  textAs('N/s, N/min or auto', (given) =>
    given.trim() === 'auto' ? 'auto' : parseRate(given, ', or auto'),
  );

/** The same without `auto`. */
export const fixedRate = () => textAs('RATE', (given) => parseRate(given));

/** Reads a rate. @throws BrandfillError `INVALID_SETTING` for anything else, zero included. */
export function parseRate(given: string, others = ''): Rate {
  const [, digits, name = ''] = /^(\d+(?:\.\d+)?)\s*\/\s*([a-z]+)$/.exec(given.trim()) ?? [];
  const count = Number(digits);
  const [, perMs] = Object.entries(UNITS_MS).find(([unit]) => unit.startsWith(name)) ?? [];
  if (count > 0 && count <= MOST_PER_UNIT && perMs !== undefined) return { count, perMs };
  throw refusal(expected(`a rate such as 20/s, 300/min or 5000/day${others}`, given));
}

const CALENDAR_UNITS = ['minute', 'hour', 'day', 'month'] as const;

/** Calls in a unit of the calendar, such as `1000/day` or `1000/day Europe/Berlin`. */
export const callsPer = () => textAs('N/UNIT', parseCallsPer);

/** Reads such. @throws BrandfillError `INVALID_SETTING` for anything else */
export function parseCallsPer(given: string): CallsPer {
  const [, digits, name = '', timeZone] =
    /^(\d+)\s*\/\s*([a-z]{3,})(?:\s+([\w/+-]+))?$/.exec(given.trim()) ?? [];
  const count = Number(digits);
  const unit = CALENDAR_UNITS.find((one) => one.startsWith(name));
  const isZone = timeZone === undefined || isTimezone(timeZone);
  if (Number.isSafeInteger(count) && count > 0 && unit && isZone) return { count, unit, timeZone };
  const what = 'calls per min, hour, day or month such as 1000/day or 1000/day Europe/Berlin';
  throw refusal(expected(what, given));
}

/** Whether a profile is named by its file rather than as one that is shipped. */
export function isProfileFile(nameOrFile: string): boolean {
  return /[/\\]|\.(ya?ml|json)$/i.test(nameOrFile);
}

/** A profile of an API: the name of one that is shipped, or a file. */
export const profile = () => textAs('NAME or FILE', asIs, { isPath: isProfileFile });

/** `COLUMN=VALUE,…`: rows whose cell in a column has one of some values. */
export const where = () =>
  textAs('COLUMN=VALUE,…', (given) => {
    const at = given.indexOf('=');
    if (at < 1) throw refusal(expected('COLUMN=VALUE,…', given));
    const values = given.slice(at + 1).split(',');
    return { column: given.slice(0, at), values: values.map((value) => value.trim()) };
  });

/** Values by name; a Map or Headers would not be seen. */
const byName = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
type ByName = z.output<typeof byName>;

const textsIn = (given: ByName): readonly NameValue[] =>
  Object.entries(given).map(([name, value]) => [name, String(value)]);

/** Output columns: `NAME=EXPR,…`, expressions by name, or `standard`. */
export const fields = () =>
  kind(
    z.union([z.string().min(1), byName], received('a text, or an object of texts by name')),
    (value): readonly Field[] =>
      value === STANDARD_NAME
        ? standardFields()
        : typeof value === 'string'
          ? parseFields(value)
          : textsIn(value).map(([name, expression]) => createField(name, expression)),
    { placeholder: 'NAME=EXPR,… or standard' },
  );

/** `NAME=VALUE`, several of them, or values by name. */
const pairs = <T>(placeholder: string, read: (given: ByName | readonly string[]) => T) =>
  kind(
    z.union(
      [z.string(), z.array(z.string()).readonly(), byName],
      received('NAME=VALUE, or an object of texts by name'),
    ),
    (value) => read(typeof value === 'string' ? [value] : value),
    { placeholder, isRepeatable: true },
  );

const isList = (given: ByName | readonly string[]): given is readonly string[] =>
  Array.isArray(given);

/** Values for blank cells: `COLUMN=EXPR`, or expressions by column. */
export const fills = () =>
  pairs('COLUMN=EXPR', (given) =>
    parseFills(isList(given) ? given : Object.fromEntries(textsIn(given))),
  );

/** The way to a logo's URL in an answer. */
export const logoField = () => textAs('EXPR', (value): Field => createField('the logo', value));

/** The name of an encoding, as people and other tools write it. */
export const encoding = () =>
  textAs('NAME', (name): Encoding => {
    const found = findEncodingByName(name);
    if (found) return found;
    throw refusal(
      `${expected('the name of an encoding', name)}; such as utf-8, utf-16, windows-1252 or latin1`,
    );
  });

export const baseUrl = () => textAs('URL', parseBaseUrl);

/** Checked before anything is read or called, and left as it is. */
export const redisUrl = () =>
  textAs('URL', (url) => {
    parseRedisUrl(url);
    return url;
  });

export const auth = () => textAs('SPEC', (value): AuthScheme => parseAuth(value));

/** Query parameters. Any of the values may be a secret. */
export const params = (check: (pair: NameValue) => void = () => {}) =>
  pairs('NAME=VALUE', (given): readonly NameValue[] => {
    const read = isList(given) ? given.map(toPair) : textsIn(given);
    for (const pair of read) check(pair);
    return read;
  });

/** The same for headers that HTTP can carry. */
export const headers = () => params(checkHeader);

function toPair(pair: string): NameValue {
  const [, name, rest] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
  // The value may be a credential in the wrong place, so it is not repeated.
  if (name === undefined || rest === undefined) throw refusal('expected NAME=VALUE');
  return [name.trim(), rest];
}

export const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** @throws BrandfillError for what HTTP cannot carry, and for headers that Brandfill sets */
export function checkHeader([name, content]: NameValue): void {
  if (/^(proxy-)?authorization$|^cookie$/i.test(name)) {
    throw refusal(
      `'${name}' is a credential; choose option 'auth' and put it into BRANDFILL_API_KEY or option 'apiKeyFile'`,
    );
  }
  // Not repeated either: it may be a whole `Authorization: …`.
  if (!HEADER_NAME.test(name)) {
    throw refusal('expected NAME=VALUE, NAME being the name of an HTTP header');
  }
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(content)) {
    throw refusal(`the value of '${name}' has characters that no header can carry`);
  }
  if (isReservedHeader(name)) {
    throw refusal(`'${name}' is set by Brandfill itself; leave it out`);
  }
}

/** Can be reached from this machine only. */
const HERE = '127.0.0.1';
const ADDRESS = /^(?:(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+)):)?(?<port>\d{1,5})$/i;

/**
 * `8080`, `0.0.0.0:8080` or `[::]:8080`. Without a host it is this machine alone. `:8080` is
 * refused: to some programs it means all interfaces, to others this machine.
 */
export const listen = () =>
  written(
    '[HOST:]PORT',
    'a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080',
    (given) => {
      const { v6, name, port } = ADDRESS.exec(String(given).trim())?.groups ?? {};
      if (port === undefined || Number(port) > 65_535) return undefined;
      return { host: v6 ?? name ?? HERE, port: Number(port) };
    },
  );

/** The address that an HTTP server listens on; port 0 is any that is free. */
export type ListenAddress = z.output<ReturnType<typeof listen>>;

/**
 * Where a file names what holds the credential. A wrong value is never repeated: it may be the
 * credential itself.
 */
export const variableName = z
  .string('expected a text')
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'expected the bare name of an environment variable such as BRANDFILL_API_KEY; the credential itself, or ${…}, does not belong here',
  )
  .describe('name of the environment variable that holds the credential');

// Options that only programs have.

/** What the types of TypeScript are enough for. */
export const given = <T>() => z.custom<T>().optional();

/** A text that is not repeated in messages. */
export const plainText = () => z.string(received('a text')).optional();

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The path of a list, `-` for standard input, or rows as objects. */
export const list = <T>() =>
  z.custom<T>(
    (value) =>
      (typeof value === 'string' && value !== '') ||
      (isObject(value) && (Symbol.iterator in value || Symbol.asyncIterator in value)),
    received("the path of a list, '-' for standard input, or rows as objects"),
  );
