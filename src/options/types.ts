import { z } from 'zod';
import { type AuthScheme, isReservedHeader, parseAuth } from '../brand/credential.ts';
import { type NameValue, parseBaseUrl } from '../brand/endpoint.ts';
import { createField, type Field, parseFields, parseFills } from '../collector/fields/fields.ts';
import { type AllowedHost, parseAllowedHost, parseRedisUrl } from '../common/addresses.ts';
import {
  DURATION_UNITS_MS,
  formatDuration,
  formatPrice,
  formatRate,
  typedDuration,
} from '../common/format.ts';
import { describeKind, findNearest } from '../common/text.ts';
import { COMMON_ENCODINGS, type Encoding, findEncodingByName } from '../rows/encoding.ts';
import type { CalendarUnit, CallsPer } from '../worker/budget.ts';
import type { Rate } from '../worker/rate.ts';
import { expected, type JsonSchema, refusal, type } from './option.ts';
import { presetPathOf, readPreset } from './yaml-files.ts';

const PAIR: JsonSchema = { type: 'string', pattern: '=' };
const PAIRS: JsonSchema = {
  anyOf: [
    PAIR,
    { type: 'array', items: PAIR },
    { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  ],
};
/** Names and texts, which may look like numbers. */
const TEXT: JsonSchema = { type: ['string', 'number'] };

/** A text. What came instead is not repeated: it may be a credential in the wrong place. */
const aText = z.string({
  error: ({ input }) => `expected a text, received ${describeKind(input)}`,
});
const someText = aText.min(1, "expected a text, received ''");
const textOr = <T>(other: z.ZodType<T>, what: string): z.ZodType<string | T, string | T> =>
  z.union([z.string(), other], {
    error: ({ input }) => expected(what, input),
  }) as z.ZodType<string | T, string | T>;
const textOrNumber = (what: string) => textOr(z.number(), what);
/** One or several. */
const texts = z.union([someText, z.array(someText)], {
  error: ({ input }) => {
    const wrong = [input].flat().find((one) => typeof one !== 'string' || one === '');
    return `expected a text, received ${wrong === '' ? "''" : describeKind(wrong)}`;
  },
}) as z.ZodType<string | readonly string[], string | readonly string[]>;

/** A switch. */
export const flag = () =>
  type(
    z.boolean({
      error: ({ input }) =>
        expected(
          `true or false${/^(true|false)$/.test(String(input)) ? ' without quotes' : ''}`,
          input,
        ),
    }),
    (value) => value,
    { show: (value) => (value ? 'yes' : 'no') },
  );

/** A text that is not empty. */
export const text = (placeholder: string) =>
  type(someText, (value) => value, { placeholder, json: TEXT });

/** A text that may be empty. */
export const anyText = () => type(aText, (value) => value, { placeholder: 'TEXT', json: TEXT });

export const file = (placeholder = 'FILE') =>
  type(someText, (value) => value, { placeholder, isPath: () => true });

/** One of some words. */
export const oneOf = <const W extends string>(...words: readonly W[]) => {
  const what = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return type(
    z.enum(words, { error: ({ input }) => expected(what, input) }) as unknown as z.ZodType<W, W>,
    (value) => value,
    { placeholder: what },
  );
};

/** One file or several, each with the ending of a page or of data. */
export const reports = () =>
  type(
    z.union([aText, z.array(aText)]) as z.ZodType<
      string | readonly string[],
      string | readonly string[]
    >,
    (value) =>
      [value].flat().map((path) => {
        if (/[^/\\]\.(html?|json)$/i.test(path)) return path;
        throw refusal(expected('a file whose name ends in .html or .json', path));
      }),
    {
      placeholder: 'FILE',
      isPath: () => true,
      isRepeatable: true,
      show: (paths) => paths.join(', '),
    },
  );

/** A whole number with these bounds, both included. */
export function integer(from: number, to: number = Number.MAX_SAFE_INTEGER) {
  const isOpen = to === Number.MAX_SAFE_INTEGER;
  const what = `a whole number, ${isOpen ? `${from} or more` : `from ${from} to ${to}`}`;
  return type(
    textOrNumber(what),
    (value) => {
      const number = /^\s*\d+\s*$/.test(String(value)) ? Number(value) : Number.NaN;
      if (Number.isSafeInteger(number) && number >= from && number <= to) return number;
      throw refusal(expected(what, value));
    },
    {
      placeholder: 'N',
      json: { type: 'integer', minimum: from, ...(isOpen ? {} : { maximum: to }) },
      show: (value) => value.toLocaleString('en-US'),
    },
  );
}

/** A run has one worker or none, whatever number somebody hopes for. */
export const workersHere = () =>
  type(
    textOrNumber('0 or 1'),
    (value) => {
      if (/^\s*[01]\s*$/.test(String(value))) return Number(value);
      throw refusal(
        expected('0 or 1 (more workers are processes of their own: brandfill worker)', value),
      );
    },
    { placeholder: '0 or 1', json: { type: 'integer', minimum: 0, maximum: 1 } },
  );

/** The longest time that a timer of Node.js can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A duration, or a number of milliseconds; whole ones come out. */
export function duration(fromMs = 0, toMs: number = LONGEST_TIMER_MS) {
  const bounds = `${fromMs > 0 ? `from ${typedDuration(fromMs)} to` : 'up to'} ${typedDuration(toMs)}`;
  const what =
    toMs === Number.MAX_SAFE_INTEGER
      ? 'a duration such as 30d'
      : `a duration ${bounds} such as 60s`;
  return type(
    textOrNumber(what),
    (value) => {
      const ms = typeof value === 'number' ? value : parseDuration(value);
      if (ms >= fromMs && ms <= toMs) return Math.round(ms);
      throw refusal(expected(what, value));
    },
    {
      placeholder: 'DURATION',
      json: {
        type: ['string', 'integer'],
        pattern: String.raw`^(\d+(\.\d+)?\s*(ms|s|m|min|h|d|w)|0)$`,
        maximum: 0,
        minimum: 0,
      },
      show: (ms) => (ms === 0 ? '0' : formatDuration(ms)),
    },
  );
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
export const share = () => {
  const what = 'a share from 0% to 100%, such as 20%';
  return type(
    textOrNumber(what),
    (value) => {
      const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(String(value).trim()) ?? [];
      const number = sign === '%' ? Number(digits) / 100 : Number(digits);
      if (number >= 0 && number <= 1) return number;
      throw refusal(expected(what, value));
    },
    {
      placeholder: 'SHARE',
      json: TEXT,
      show: (value) => `${(100 * value).toLocaleString('en-US')} %`,
    },
  );
};

/** A decimal number with at most six decimals. */
const decimal = (what: string, accepts: (number: number) => boolean, show: (n: number) => string) =>
  type(
    textOrNumber(what),
    (value) => {
      const given = String(value).trim();
      if (/^\d+(\.\d{1,6})?$/.test(given) && accepts(Number(given))) return Number(given);
      throw refusal(expected(what, value));
    },
    { placeholder: 'NUMBER', json: { type: 'number', minimum: 0 }, show },
  );

const MOST_PRICE = 1_000_000;

/** The price of a call, in whatever currency. */
export const price = () =>
  decimal(
    'what a call costs as a number with a point, at most six decimals and no currency, such as 0.01',
    (number) => number <= MOST_PRICE,
    formatPrice,
  );

/** The most that a run may cost, in the units that the API bills. */
export const cost = () =>
  decimal(
    'a number of units, such as 500',
    (number) => number > 0 && number <= 1_000 * MOST_PRICE,
    (units) => units.toLocaleString('en-US', { maximumFractionDigits: 6 }),
  );

/** The units of rates, with their names. Of these, `m` may be a minute or a month. */
const UNITS: readonly {
  readonly names: readonly string[];
  readonly ms: number;
  readonly calendar?: CalendarUnit;
}[] = [
  { names: ['s', 'sec', 'second'], ms: 1_000 },
  { names: ['m'], ms: 60_000 },
  { names: ['min', 'minute'], ms: 60_000, calendar: 'minute' },
  { names: ['h', 'hour'], ms: 3_600_000, calendar: 'hour' },
  { names: ['d', 'day'], ms: 86_400_000, calendar: 'day' },
];

/** The starts of one unit are remembered, so this bounds memory. */
const MOST_PER_UNIT = 1_000_000;

/** `20/s`, `300/min` or `5000/day`; `auto` is no fixed rate. */
export const rate = () =>
  type(someText, parseRate, {
    placeholder: 'N/s, N/min or auto',
    json: { type: 'string', pattern: String.raw`^(auto|\d+(\.\d+)?\s*/\s*[a-z]+)$` },
    show: (given) => (given === 'auto' ? given : formatRate((given.count / given.perMs) * 1_000)),
  });

/** Reads a rate. @throws BrandfillError `INVALID_SETTING` for anything else, zero included. */
export function parseRate(given: string): Rate | 'auto' {
  if (given.trim() === 'auto') return 'auto';
  const [, digits, name = ''] = /^(\d+(?:\.\d+)?)\s*\/\s*([a-z]+)$/.exec(given.trim()) ?? [];
  const count = Number(digits);
  const unit = UNITS.find(({ names }) => names.includes(name));
  if (count > 0 && count <= MOST_PER_UNIT && unit) return { count, perMs: unit.ms };
  throw refusal(expected('a rate such as 20/s, 300/min or 5000/day, or auto', given));
}

/** Calls in a unit of the calendar, such as `1000/day`. */
export const callsPer = () =>
  type(
    someText,
    (given): CallsPer => {
      const [, digits, name = ''] = /^(\d+)\s*\/\s*([a-z]+)$/.exec(given.trim()) ?? [];
      const count = Number(digits);
      const unit =
        name === 'month' ? name : UNITS.find(({ names }) => names.includes(name))?.calendar;
      if (Number.isSafeInteger(count) && count > 0 && unit) return { count, unit };
      throw refusal(expected('calls per min, hour, day or month such as 1000/day', given));
    },
    {
      placeholder: 'N/UNIT',
      json: TEXT,
      show: ({ count, unit }) => `${count.toLocaleString('en-US')}/${unit}`,
    },
  );

/** Whether a profile is named by its file rather than as one that is shipped. */
export function isProfileFile(nameOrFile: string): boolean {
  return /[/\\]|\.(ya?ml|json)$/i.test(nameOrFile);
}

/** A profile of an API: the name of one that is shipped, or a file. */
export const profile = () =>
  type(someText, (value) => value, {
    placeholder: 'NAME or FILE',
    json: TEXT,
    isPath: isProfileFile,
  });

/** Rows whose cell in a column has one of some values. */
export interface Where {
  readonly column: string;
  readonly values: readonly string[];
}

/** `COLUMN=VALUE,…`. */
export const where = () =>
  type(
    someText,
    (given): Where => {
      const at = given.indexOf('=');
      if (at < 1) throw refusal(expected('COLUMN=VALUE,…', given));
      const values = given.slice(at + 1).split(',');
      return { column: given.slice(0, at), values: values.map((value) => value.trim()) };
    },
    {
      placeholder: 'COLUMN=VALUE,…',
      json: PAIR,
      show: ({ column, values }) => `${column}=${values.join(',')}`,
    },
  );

/** A map whose values are texts. Members of a list, a Map or Headers would not be seen. */
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !(Symbol.iterator in value);
const record = z.custom<Readonly<Record<string, string>>>(isRecord);

function textsIn(given: Readonly<Record<string, unknown>>): readonly NameValue[] {
  return Object.entries(given).map(([name, value]) => {
    if (typeof value === 'string') return [name, value];
    if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
    throw refusal(`expected a text as the value of '${name}', received ${describeKind(value)}`);
  });
}

/** Output columns: `NAME=EXPR,…`, expressions by name, or `@FILE` with them. */
export const fields = () =>
  type(
    z.union([someText, record], {
      error: ({ input }) =>
        `expected a text, received ${input === '' ? "''" : describeKind(input)}`,
    }) as z.ZodType<
      string | Readonly<Record<string, string>>,
      string | Readonly<Record<string, string>>
    >,
    (value): readonly Field[] => {
      if (typeof value !== 'string')
        return textsIn(value).map(([name, expr]) => createField(name, expr));
      const path = presetPathOf(value);
      return path === undefined ? parseFields(value) : readPreset(path);
    },
    {
      placeholder: 'NAME=EXPR,…',
      json: {
        anyOf: [
          { type: 'string', pattern: '^@|=' },
          { type: 'object', additionalProperties: { type: 'string' } },
        ],
      },
      show: (read) => read.map(({ name, expression = '' }) => `${name}=${expression}`).join(', '),
    },
  );

type Pairs = string | readonly string[] | Readonly<Record<string, string>>;
const pairShape = z.custom<Pairs>(
  (value) => typeof value === 'string' || Array.isArray(value) || isRecord(value),
  {
    error: ({ input }) =>
      `expected NAME=VALUE, or an object of texts by name, received ${describeKind(input)}`,
  },
);

/** Values for blank cells: `COLUMN=EXPR`, or expressions by column. */
export const fills = () =>
  type(
    pairShape,
    (value) =>
      parseFills(
        isRecord(value)
          ? Object.fromEntries(textsIn(value))
          : ([value].flat() as readonly string[]),
      ),
    {
      placeholder: 'COLUMN=EXPR',
      json: PAIRS,
      isRepeatable: true,
      show: (read) =>
        read.map(({ column, field }) => `${column}=${field.expression ?? ''}`).join(', '),
    },
  );

/** The way to a logo's URL in an answer. */
export const logoField = () =>
  type(someText, (value): Field => createField('the logo', value), {
    placeholder: 'EXPR',
    json: TEXT,
    show: ({ expression = '' }) => expression,
  });

/** The name of an encoding, as people and other tools write it. */
export const encoding = () =>
  type(
    someText,
    (name): Encoding => {
      const found = findEncodingByName(name);
      if (found) return found;
      const meant = findNearest(name, COMMON_ENCODINGS);
      const hint = meant
        ? `did you mean ${meant}?`
        : 'such as utf-8, utf-16, windows-1252 or latin1';
      throw refusal(`${expected('the name of an encoding', name)}; ${hint}`);
    },
    { placeholder: 'NAME', json: TEXT, show: ({ label }) => label },
  );

export const baseUrl = () =>
  type(someText, parseBaseUrl, { placeholder: 'URL', show: withoutLogin });

/** Checked before anything is read or called, and left as it is. */
export const redisUrl = () =>
  type(
    someText,
    (url) => {
      parseRedisUrl(url);
      return url;
    },
    { placeholder: 'URL', show: withoutLogin },
  );

/** A password may hold anything, even characters that end a login elsewhere. */
function withoutLogin(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1').replace(/[?#].*$/s, '');
}

export const auth = () =>
  type(someText, (value): AuthScheme => parseAuth(value), {
    placeholder: 'SPEC',
    show: (scheme) => ('name' in scheme ? `${scheme.kind}:${scheme.name}` : scheme.kind),
  });

/** `NAME=VALUE`, or values by name. Any of the values may be a secret. */
export const params = () => pairs(() => {});

/** The same for headers that HTTP can carry. */
export const headers = () => pairs(checkHeader);

const pairs = (check: (pair: NameValue) => void) =>
  type(
    pairShape,
    (value): readonly NameValue[] => {
      const read = isRecord(value) ? textsIn(value) : [value].flat().map(toPair);
      for (const pair of read) check(pair);
      return read;
    },
    {
      placeholder: 'NAME=VALUE',
      json: PAIRS,
      isRepeatable: true,
      show: (read) => `${read.map(([name]) => name).join(', ')} (values not shown)`,
    },
  );

function toPair(pair: unknown): NameValue {
  const [, name, rest] = /^([^=]+)=(.*)$/s.exec(typeof pair === 'string' ? pair : '') ?? [];
  // The value may be a credential in the wrong place, so it is not repeated.
  if (name === undefined || rest === undefined) throw refusal('expected NAME=VALUE');
  return [name.trim(), rest];
}

function checkHeader([name, content]: NameValue): void {
  if (/^(proxy-)?authorization$|^cookie$/i.test(name)) {
    throw refusal(
      `'${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file`,
    );
  }
  // Not repeated either: it may be a whole `Authorization: …`.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw refusal('expected NAME=VALUE, NAME being the name of an HTTP header');
  }
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(content)) {
    throw refusal(`the value of '${name}' has characters that no header can carry`);
  }
  if (isReservedHeader(name)) {
    throw refusal(`'${name}' is set by Brandfill itself; leave it out`);
  }
}

/** `HOST` or `HOST:PORT`, each. */
export const hosts = () =>
  type(
    texts,
    (given): readonly AllowedHost[] => [given].flat().map((host) => parseAllowedHost(host)),
    {
      placeholder: 'HOST',
      json: { anyOf: [TEXT, { type: 'array', items: TEXT }] },
      isRepeatable: true,
      show: (read) =>
        read
          .map(({ hostname, port }) => (port === undefined ? hostname : `${hostname}:${port}`))
          .join(', '),
    },
  );

/** The address that an HTTP server listens on. */
export interface ListenAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** Can be reached from this machine only. */
const HERE = '127.0.0.1';
const ADDRESS = /^(?:(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+)):)?(?<port>\d{1,5})$/i;

/**
 * `8080`, `0.0.0.0:8080` or `[::]:8080`. Without a host it is this machine alone. `:8080` is
 * refused: to some programs it means all interfaces, to others this machine.
 */
export const listen = () => {
  const what =
    'a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080';
  return type(
    textOrNumber(what),
    (value): ListenAddress => {
      const { v6, name, port } = ADDRESS.exec(String(value).trim())?.groups ?? {};
      if (port === undefined || Number(port) > 65_535) throw refusal(expected(what, value));
      return { host: v6 ?? name ?? HERE, port: Number(port) };
    },
    { placeholder: '[HOST:]PORT', json: TEXT, show: () => 'given' },
  );
};
