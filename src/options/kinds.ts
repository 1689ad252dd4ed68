import {
  createField,
  type Field,
  type FillSetting,
  parseFields,
  parseFills,
} from '../collector/fields/fields.ts';
import { BrandfillError } from '../common/errors.ts';
import {
  DURATION_UNITS_MS,
  formatDuration,
  formatPrice,
  formatRate,
  formatSize,
  typedDuration,
} from '../common/format.ts';
import { describeKind, findNearest } from '../common/text.ts';
import type { CalendarUnit, CallsPer } from '../guard/budget.ts';
import type { Rate } from '../pace/rate.ts';
import { COMMON_ENCODINGS, type Encoding, findEncodingByName } from '../rows/encoding/encodings.ts';
import type { JsonSchema, Kind } from './declaration.ts';
import { presetPathOf, readPreset } from './yaml-files.ts';

/** Stands in a shape for a text with `${VAR}` in it, whatever its value. */
const VARIABLE: JsonSchema = { $ref: '#/definitions/variable' };
export const STRING: JsonSchema = { type: 'string' };
/** Names and texts, which may look like numbers. */
export const TEXT: JsonSchema = { type: ['string', 'number'] };
const PAIR: JsonSchema = { type: 'string', pattern: '=' };
export const PAIRS: JsonSchema = {
  anyOf: [
    PAIR,
    { type: 'array', items: PAIR },
    { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  ],
};
const orVariable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, VARIABLE] });
export const orList = (items: JsonSchema): JsonSchema => ({
  anyOf: [items, { type: 'array', items }],
});

/** A switch. */
export const FLAG: Kind<boolean, boolean> = {
  schema: orVariable({ type: 'boolean' }),
  parse: (value) => {
    if (value === 'true' || value === 'false') {
      throw expected('true or false without quotes', value);
    }
    if (typeof value !== 'boolean') throw expected('true or false', value);
    return value;
  },
  show: (value) => (value ? 'yes' : 'no'),
};

const A_TEXT = 'a text';

export function readText(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw expected(A_TEXT, value);
  return value;
}

/** A text that is not empty. */
export const text = (placeholder: string): Kind<string, string> => ({
  placeholder,
  schema: TEXT,
  parse: readText,
  show: asItIs,
});

/** A text that may be empty. */
export const ANY_TEXT: Kind<string, string> = {
  ...text('TEXT'),
  parse: (value) => {
    if (typeof value !== 'string') throw expected(A_TEXT, value);
    return value;
  },
};

export const FILE: Kind<string, string> = {
  ...text('FILE'),
  schema: STRING,
  isPath: () => true,
};
export const FOLDER: Kind<string, string> = { ...FILE, placeholder: 'DIR' };

/** One file or several, each with the ending of a page or of data. */
export const REPORTS: Kind<readonly string[], string | readonly string[]> = {
  placeholder: 'FILE',
  schema: orList(STRING),
  isPath: () => true,
  isRepeatable: true,
  parse: (value) =>
    [value].flat().map((item: unknown) => {
      const path = readText(item);
      if (/[^/\\]\.(html?|json)$/i.test(path)) return path;
      throw expected('a file whose name ends in .html or .json', item);
    }),
  show: (paths) => paths.join(', '),
};

/** A whole number with these bounds, both included. */
export function integer(from: number, to: number): Kind<number, number> {
  const isOpen = to === Number.MAX_SAFE_INTEGER;
  const bounds = isOpen ? `${from} or more` : `from ${from} to ${to}`;
  return {
    placeholder: 'N',
    schema: orVariable({ type: 'integer', minimum: from, ...(isOpen ? {} : { maximum: to }) }),
    isNumber: true,
    parse: (value) => {
      const number =
        typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
      if (Number.isInteger(number) && Number(number) >= from && Number(number) <= to) {
        return Number(number);
      }
      throw expected(`a whole number, ${bounds}`, value);
    },
    show: (value) => value.toLocaleString('en-US'),
  };
}

const ZERO_OR_ONE = integer(0, 1);

/** A run has one worker or none, whatever number somebody hopes for. */
export const WORKERS_HERE: Kind<number, 0 | 1> = {
  placeholder: '0 or 1',
  schema: ZERO_OR_ONE.schema,
  isNumber: true,
  parse: (value) => {
    try {
      return ZERO_OR_ONE.parse(value);
    } catch (error) {
      throw refusal(
        `expected 0 or 1 (more workers are processes of their own: brandfill worker), received '${String(value)}'`,
        error,
      );
    }
  },
  show: (value) => String(value),
};

/** The longest time that a timer of Node.js can wait. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** A duration, or a number of milliseconds; whole ones come out. */
export function duration(fromMs: number, toMs: number): Kind<number, string | number> {
  return {
    placeholder: 'DURATION',
    schema: orVariable({
      type: ['string', 'integer'],
      pattern: String.raw`^(\d+(\.\d+)?\s*(ms|s|m|min|h|d|w)|0)$`,
      maximum: 0,
      minimum: 0,
    }),
    parse: (value) => {
      const ms = typeof value === 'number' ? value : parseDuration(readText(value));
      if (ms >= fromMs && ms <= toMs) return Math.round(ms);
      const isOpen = toMs === Number.MAX_SAFE_INTEGER;
      const bounds = `${fromMs > 0 ? `from ${typedDuration(fromMs)} to` : 'up to'} ${typedDuration(toMs)}`;
      throw expected(isOpen ? 'a duration such as 30d' : `a duration ${bounds} such as 60s`, value);
    },
    show: (ms) => (ms === 0 ? '0' : formatDuration(ms)),
  };
}

export const ANY_DURATION: Kind<number, string | number> = duration(0, Number.MAX_SAFE_INTEGER);

/**
 * Reads a duration such as `250ms`, `60s`, `10min`, `12h`, `30d` or `2w` as whole milliseconds.
 * `0` needs no unit.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else.
 */
export function parseDuration(given: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(given.trim());
  const unitMs =
    match &&
    (match[2] === '' && Number(match[1]) === 0 ? 1 : DURATION_UNITS_MS.get(match[2] ?? ''));
  if (!match || unitMs === undefined || unitMs === null) {
    throw refusal(`expected a duration such as 500ms, 60s, 10min, 12h or 30d, received '${given}'`);
  }
  // 16.1 times a thousand is 16100.000000000002, which Redis refuses as a time.
  return Math.round(Number(match[1]) * unitMs);
}

/** `1MB`, or a number of bytes. */
export const SIZE: Kind<number, string | number> = {
  placeholder: 'SIZE',
  schema: TEXT,
  parse: (value) => {
    if (typeof value === 'string' || typeof value === 'number') return parseSize(String(value));
    throw expected('a size such as 64MB', value);
  },
  show: formatSize,
};

/** Each picture is held in memory while it is checked. */
const LARGEST_PICTURE_BYTES = 50_000_000;

export const PICTURE_SIZE: Kind<number, string | number> = {
  ...SIZE,
  parse: (value) => {
    const bytes = SIZE.parse(value);
    if (bytes <= LARGEST_PICTURE_BYTES) return bytes;
    throw refusal('expected 50MB at most');
  },
};

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
export function parseSize(given: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(given.trim()) ?? [];
  const bytes = Math.floor(Number(number) * (UNIT_BYTES.get(unit.toUpperCase()) ?? Number.NaN));
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw refusal(`expected a size such as 64MB, 1GB or a number of bytes, received '${given}'`);
}

/** `20%` or `0.2`, as a number from 0 to 1. */
export const SHARE: Kind<number, string | number> = {
  placeholder: 'SHARE',
  schema: TEXT,
  parse: (value) => {
    const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(String(value).trim()) ?? [];
    const number = sign === '%' ? Number(digits) / 100 : Number(digits);
    if (number >= 0 && number <= 1) return number;
    throw expected('a share from 0% to 100%, such as 20%', value);
  },
  show: (value) => `${(100 * value).toLocaleString('en-US')} %`,
};

const MOST_PRICE = 1_000_000;

/** The price of a call: a decimal number with at most six decimals, in whatever currency. */
export const PRICE: Kind<number, number | string> = {
  placeholder: 'NUMBER',
  schema: orVariable({ type: 'number', minimum: 0 }),
  parse: (value) => {
    const given = String(value).trim();
    const number = Number(given);
    if (/^\d+(\.\d{1,6})?$/.test(given) && number <= MOST_PRICE) return number;
    throw refusal(
      `expected what a call costs as a number with a point, at most six decimals and no currency, such as 0.01, received '${given}'`,
    );
  },
  show: formatPrice,
};

/** The most that a run may cost, in the units that the API bills. */
export const COST: Kind<number, number | string> = {
  placeholder: 'NUMBER',
  schema: orVariable({ type: 'number', exclusiveMinimum: 0 }),
  parse: (value) => {
    const given = String(value).trim();
    const number = Number(given);
    if (/^\d+(\.\d{1,6})?$/.test(given) && number > 0 && number <= 1_000 * MOST_PRICE)
      return number;
    throw refusal(`expected a number of units, such as 500, received '${given}'`);
  },
  show: (units) => units.toLocaleString('en-US', { maximumFractionDigits: 6 }),
};

/** `20/s`, `300/min` or `5000/day`; `auto` is no fixed rate. */
export const RATE: Kind<Rate | 'auto', string> = {
  placeholder: 'N/s, N/min or auto',
  schema: orVariable({
    type: 'string',
    pattern: String.raw`^(auto|\d+(\.\d+)?\s*/\s*[a-z]+)$`,
  }),
  parse: (value) => parseRate(readText(value)),
  show: (rate) => (rate === 'auto' ? rate : formatRate((rate.count / rate.perMs) * 1_000)),
};

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

/**
 * Reads a rate such as `20/s`, `300/min` or `5000/day`; `auto` is no fixed rate.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else, zero included.
 */
export function parseRate(given: string): Rate | 'auto' {
  if (given.trim() === 'auto') return 'auto';
  const match = /^(\d+(?:\.\d+)?)\s*\/\s*([a-z]+)$/.exec(given.trim());
  const count = Number(match?.[1]);
  const unit = UNITS.find(({ names }) => names.includes(match?.[2] ?? ''));
  if (!(count > 0 && count <= MOST_PER_UNIT) || unit === undefined) {
    throw refusal(
      `expected a rate such as 20/s, 300/min or 5000/day, or auto, received '${given}'`,
    );
  }
  return { count, perMs: unit.ms };
}

/** Calls in a unit of the calendar, such as `1000/day`. */
export const CALLS_PER: Kind<CallsPer, string> = {
  placeholder: 'N/UNIT',
  schema: TEXT,
  parse: (value) => {
    const given = readText(value);
    const [, digits, name = ''] = /^(\d+)\s*\/\s*([a-z]+)$/.exec(given.trim()) ?? [];
    const count = Number(digits);
    const unit =
      name === 'month' ? name : UNITS.find(({ names }) => names.includes(name))?.calendar;
    if (!Number.isSafeInteger(count) || count === 0 || unit === undefined) {
      throw refusal(
        `expected calls per min, hour, day or month such as 1000/day, received '${given}'`,
      );
    }
    return { count, unit };
  },
  show: ({ count, unit }) => `${count.toLocaleString('en-US')}/${unit}`,
};

/** A profile of an API: the name of one that is shipped, or a file. */
export const PROFILE: Kind<string, string> = { ...text('NAME or FILE'), isPath: isProfileFile };

/** Whether a profile is named by its file rather than as one that is shipped. */
export function isProfileFile(nameOrFile: string): boolean {
  return /[/\\]|\.(ya?ml|json)$/i.test(nameOrFile);
}

/** What a lookup may end with and still be passed on to a second API. */
export type PassedOn = 'not_found' | 'rejected';

const PASSED_ON: readonly PassedOn[] = ['not_found', 'rejected'];

/** Outcomes after which a second API is asked: a list, or a text with commas. */
export const OUTCOMES: Kind<readonly PassedOn[], string | readonly PassedOn[]> = {
  placeholder: 'OUTCOMES',
  schema: orVariable(
    orList({ type: 'string', pattern: '^(not_found|rejected)(, *(not_found|rejected))*$' }),
  ),
  isRepeatable: true,
  parse: (value) => {
    const names = [value].flat().flatMap((given) => readText(given).split(','));
    return names.map((name) => {
      const known = PASSED_ON.find((outcome) => outcome === name.trim());
      if (known) return known;
      throw refusal(`expected not_found, rejected or both, received '${name}'`);
    });
  },
  show: (outcomes) => outcomes.join(', '),
};

/** Output columns: `NAME=EXPR,…`, expressions by name, or `@FILE` with them. */
export const FIELDS: Kind<readonly Field[], string | Readonly<Record<string, string>>> = {
  placeholder: 'NAME=EXPR,…',
  schema: orVariable({
    anyOf: [
      { type: 'string', pattern: '^@|=' },
      { type: 'object', additionalProperties: { type: 'string' } },
    ],
  }),
  isMap: true,
  takesPreset: true,
  parse: (value) => {
    if (isRecord(value)) {
      return Object.entries(value).map(([name, expr]) => createField(name, readText(expr)));
    }
    const path = presetPathOf(readText(value));
    return path === undefined ? parseFields(readText(value)) : readPreset(path);
  },
  show: (fields) => fields.map(({ name, expression = '' }) => `${name}=${expression}`).join(', '),
};

/** Values for blank cells: `COLUMN=EXPR`, or expressions by column. */
export const FILLS: Kind<
  readonly FillSetting[],
  readonly string[] | Readonly<Record<string, string>>
> = {
  placeholder: 'COLUMN=EXPR',
  schema: PAIRS,
  isRepeatable: true,
  isMap: true,
  parse: (value) =>
    parseFills(
      isRecord(value)
        ? Object.fromEntries(Object.entries(value).map(([name, expr]) => [name, readText(expr)]))
        : [value].flat().map(readText),
    ),
  show: (fills) =>
    fills.map(({ column, field }) => `${column}=${field.expression ?? ''}`).join(', '),
};

/** The way to a logo's URL in an answer. */
export const LOGO_FIELD: Kind<Field, string> = {
  placeholder: 'EXPR',
  schema: TEXT,
  parse: (value) => createField('the logo', readText(value)),
  show: ({ expression = '' }) => expression,
};

/** The name of an encoding, as people and other tools write it. */
export const ENCODING: Kind<Encoding, string> = {
  placeholder: 'NAME',
  schema: TEXT,
  parse: (value) => {
    const name = readText(value);
    const found = findEncodingByName(name);
    if (found) return found;
    const meant = findNearest(name, COMMON_ENCODINGS);
    const hint =
      meant === undefined
        ? 'such as utf-8, utf-16, windows-1252 or latin1'
        : `did you mean ${meant}?`;
    throw refusal(`expected the name of an encoding, received '${name}'; ${hint}`);
  },
  show: ({ label }) => label,
};

/**
 * Whether a value has members by name. Those of a list, a Map, Headers or URLSearchParams would not
 * be seen.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value);
}

function asItIs(value: string): string {
  return value;
}

export function refusal(message: string, cause?: unknown): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message, cause === undefined ? {} : { cause });
}

function expected(what: string, received: unknown): BrandfillError {
  return refusal(`expected ${what}, received ${quote(received, what)}`);
}

/**
 * Quotes a value. A number where a text was expected, or a list or URL anywhere, would otherwise
 * look like a text.
 */
function quote(received: unknown, what: string): string {
  const isShown = typeof received === 'number' || typeof received === 'boolean';
  if (typeof received === 'string' || (isShown && what !== A_TEXT)) return `'${received}'`;
  return describeKind(received);
}
