import { type AuthScheme, parseAuth } from '../brand/credential.ts';
import { type NameValue, parseBaseUrl } from '../brand/endpoint.ts';
import {
  createField,
  type Field,
  type FillSetting,
  parseFields,
  parseFills,
} from '../collector/fields.ts';
import { BrandfillError } from '../errors.ts';
import type { CallsPer } from '../guard/calendar-window.ts';
import type { Rate } from '../pace/rate.ts';
import { parseCallsPer } from './calls-per.ts';
import { parseRate } from './rate.ts';
import {
  duration,
  flag,
  headers,
  integer,
  isRecord,
  nameValues,
  possiblyEmptyText,
  share,
  text,
} from './setting-values.ts';

/**
 * One setting: its name, how it is read, its default. Command line, environment, library, help and
 * docs all come from here.
 */
export interface SettingDefinition<T> {
  /** Placeholder of its value in the help; none for a switch. */
  readonly value?: string;
  /** Environment variable it is read from when the command line does not give it. */
  readonly env?: string;
  /** As a user would write it. */
  readonly default?: string;
  /** May be given more than once. */
  readonly isRepeatable?: boolean;
  readonly description: string;
  /** @throws BrandfillError `INVALID_SETTING` that says what was expected */
  parse(value: unknown): T;
}

/** All settings of `enrich`, read and checked. Durations are in milliseconds. */
export interface Settings {
  readonly out: string | undefined;
  readonly failures: string | undefined;
  readonly changes: string | undefined;
  readonly key: string | undefined;
  readonly merge: string | undefined;
  readonly baseUrl: string | undefined;
  readonly auth: AuthScheme;
  readonly apiKeyFile: string | undefined;
  readonly param: readonly NameValue[] | undefined;
  readonly header: readonly NameValue[] | undefined;
  readonly domainColumn: string | undefined;
  readonly registrable: boolean | undefined;
  readonly fields: readonly Field[] | undefined;
  readonly fill: readonly FillSetting[] | undefined;
  readonly prefix: string;
  readonly concurrency: number;
  readonly rate: Rate | 'auto';
  readonly retries: number;
  readonly timeout: number;
  readonly maxWait: number;
  readonly maxOutage: number;
  readonly maxCalls: number | undefined;
  readonly maxCallsPer: CallsPer | undefined;
  readonly maxFailed: number;
  readonly confirmAbove: number;
  readonly yes: boolean | undefined;
  readonly fresh: number;
  readonly freshNotFound: number;
  readonly freshRejected: number;
  readonly freshJitter: number;
  readonly refresh: boolean | undefined;
  readonly onlyMissing: boolean | undefined;
  readonly store: string;
  readonly queue: string | undefined;
  readonly workers: number;
  readonly chunk: number;
  readonly window: number | undefined;
  readonly lostAfter: number;
  readonly acceptEviction: boolean | undefined;
}

/** How each of some settings is read. */
export type Definitions<T> = { readonly [K in keyof T]-?: SettingDefinition<T[K]> };

/** Defines all settings of `enrich`. The keys are those of the library's options. */
export const SETTINGS: Definitions<Settings> = {
  out: {
    value: 'FILE',
    description:
      'where the enriched rows go; - is standard output (default: <input>.enriched.<ext>)',
    parse: text,
  },
  failures: {
    value: 'FILE',
    description: 'where the rows go that were not enriched (default: <input>.failures.<ext>)',
    parse: text,
  },
  changes: {
    value: 'FILE',
    description:
      'where the rows go that are new, or whose enriched values differ from those of the last run',
    parse: text,
  },
  key: {
    value: 'COLUMN',
    description:
      'with --changes: the column that tells rows apart from run to run (default: their domains)',
    parse: text,
  },
  merge: {
    value: 'FILE',
    description:
      'an earlier output: the input is its failures file, and what is found now gets in its places',
    parse: text,
  },
  baseUrl: {
    value: 'URL',
    env: 'BRANDFILL_BASE_URL',
    description: 'the API; calls {base_url}/v1/brand?domain=…, a path in it is kept',
    parse: (value) => parseBaseUrl(text(value)),
  },
  auth: {
    value: 'SPEC',
    env: 'BRANDFILL_AUTH',
    default: 'none',
    description:
      'none, bearer, basic, header:NAME or query:NAME; the credential is in BRANDFILL_API_KEY or --api-key-file',
    parse: (value) => parseAuth(text(value)),
  },
  apiKeyFile: {
    value: 'FILE',
    description: 'a file that holds the credential and nothing else',
    parse: text,
  },
  param: {
    value: 'NAME=VALUE',
    isRepeatable: true,
    description: 'an extra query parameter for every call',
    parse: nameValues,
  },
  header: {
    value: 'NAME=VALUE',
    isRepeatable: true,
    description: 'an extra header for every call; no credentials',
    parse: headers,
  },
  domainColumn: {
    value: 'NAME',
    description:
      'the column that holds the domain (default: guessed by name and content, and said)',
    parse: text,
  },
  registrable: {
    description: 'reduce each domain to its registrable part: shop.example.co.uk to example.co.uk',
    parse: flag,
  },
  fields: {
    value: 'NAME=EXPR,…',
    description: 'output columns as JMESPath into the answer (default: the answer, flattened)',
    parse: (value) =>
      isRecord(value)
        ? Object.entries(value).map(([name, expression]) => createField(name, text(expression)))
        : parseFields(text(value)),
  },
  fill: {
    value: 'COLUMN=EXPR',
    isRepeatable: true,
    description: "what goes into a column of the list's own where it is blank, as JMESPath",
    parse: (value) =>
      parseFills(
        isRecord(value)
          ? Object.fromEntries(Object.entries(value).map(([name, expr]) => [name, text(expr)]))
          : [value].flat().map(text),
      ),
  },
  prefix: {
    value: 'TEXT',
    default: 'brand_',
    description: 'what the names of all added columns begin with',
    parse: possiblyEmptyText,
  },
  concurrency: {
    value: 'N',
    default: '32',
    description: 'calls in flight at the same time',
    parse: integer(1, 10_000),
  },
  rate: {
    value: 'N/s, N/min or auto',
    default: 'auto',
    description:
      'a rate that is never exceeded, by all workers on a queue together; auto: finds the fastest one that the API allows',
    parse: (value) => parseRate(text(value)),
  },
  retries: {
    value: 'N',
    default: '5',
    description: 'how often a lookup is tried again after a server error or a broken connection',
    parse: integer(0, 100),
  },
  timeout: {
    value: 'DURATION',
    default: '60s',
    description: 'the longest that one call may take',
    parse: duration(1, 2 ** 31 - 1),
  },
  maxWait: {
    value: 'DURATION',
    default: '15min',
    description: 'the longest wait that the API may ask for; told to wait longer, the run stops',
    parse: duration(0, 2 ** 31 - 1),
  },
  maxOutage: {
    value: 'DURATION',
    default: '1h',
    description: 'how long an outage of the API is waited for before the run stops',
    parse: duration(0, 2 ** 31 - 1),
  },
  maxCalls: {
    value: 'N',
    description:
      'stop after N calls (429s do not count); rows left over are skipped, the next run takes them up',
    parse: integer(1, Number.MAX_SAFE_INTEGER),
  },
  maxCallsPer: {
    value: 'N/UNIT',
    description:
      'stop after N calls in a calendar min, hour, day or month (UTC), such as 1000/day, those of all runs with this credential together; 429s do not count',
    parse: (value) => parseCallsPer(text(value)),
  },
  maxFailed: {
    value: 'SHARE',
    default: '20%',
    description:
      'stop when more lookups than this fail, of 200 at least; those that failed in the run before do not count',
    parse: share,
  },
  confirmAbove: {
    value: 'N',
    default: '10000',
    description: 'on a terminal, ask before a run that makes more calls than this',
    parse: integer(0, Number.MAX_SAFE_INTEGER),
  },
  yes: {
    description: 'do not ask',
    parse: flag,
  },
  fresh: {
    value: 'DURATION',
    default: '30d',
    description: 'how long an answer counts before the domain is asked again',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  freshNotFound: {
    value: 'DURATION',
    default: '7d',
    description: 'the same for domains that were not found',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  freshRejected: {
    value: 'DURATION',
    default: '7d',
    description: 'the same for domains that the API refused',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  freshJitter: {
    value: 'SHARE',
    default: '20%',
    description:
      'by how much less of these durations an answer may count, each by chance, so that what was fetched in one night is not due in one night; 0 for none',
    parse: share,
  },
  refresh: {
    description: 'ask about every domain again, however fresh its answer is',
    parse: flag,
  },
  onlyMissing: {
    description:
      'ask only about domains that were never found, also those asked a short while ago; what was found stays, however old',
    parse: flag,
  },
  store: {
    value: 'DIR',
    env: 'BRANDFILL_STORE',
    default: '.brandfill',
    description: 'where answers are kept between runs',
    parse: text,
  },
  queue: {
    value: 'URL',
    env: 'BRANDFILL_QUEUE',
    description:
      'the Redis that carries lookups to workers, such as redis://localhost:6379/0 (default: none, all in this process)',
    parse: text,
  },
  workers: {
    value: '0 or 1',
    default: '1',
    description: 'with --queue: whether lookups are made here too, or only by other workers',
    parse: integer(0, 1),
  },
  chunk: {
    value: 'N',
    default: '50',
    description: 'with --queue: how many lookups travel together, fewer for a short list',
    parse: integer(1, 1_000),
  },
  window: {
    value: 'N',
    description:
      'with --queue: how many chunks may be on their way (default: enough for this --concurrency, at least 64)',
    parse: integer(1, 1_000_000),
  },
  lostAfter: {
    value: 'DURATION',
    default: '15s',
    description:
      'with --queue: how long a worker may be silent before its lookups are given to others',
    parse: duration(1_000, 60 * 60_000),
  },
  acceptEviction: {
    description: 'use a Redis that may throw lookups away when its memory is full',
    parse: flag,
  },
};

export type SettingKey = keyof Settings;

/**
 * Reads settings from what was given, else from the environment, else from the defaults.
 *
 * @param definitions which settings there are
 * @param sources values by key, strings as on the command line, or numbers, lists and booleans; and
 * how a key is called in messages, such as `--base-url`
 * @throws BrandfillError `INVALID_SETTING` that names the setting, what was expected and what came
 */
export function readSettings<T extends object>(
  definitions: Definitions<T>,
  { given, env, describe }: SettingSources<keyof T & string>,
): T {
  const read = Object.entries<SettingDefinition<unknown>>(definitions).map(([name, definition]) => {
    const key = name as keyof T & string;
    const fromEnv = definition.env === undefined ? undefined : env[definition.env] || undefined;
    const value = given[key] ?? fromEnv ?? definition.default;
    const label =
      given[key] === undefined && fromEnv !== undefined ? definition.env : describe(key);
    return [key, value === undefined ? undefined : parse(definition, value, label ?? key)];
  });
  return Object.fromEntries(read) as T;
}

/** Where settings come from. */
export interface SettingSources<K extends string> {
  readonly given: Readonly<Partial<Record<K, unknown>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly describe: (key: K) => string;
}

/** `baseUrl` as the command line has it: `--base-url`. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function parse(definition: SettingDefinition<unknown>, value: unknown, label: string): unknown {
  try {
    return definition.parse(value);
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    throw new BrandfillError('INVALID_SETTING', `Cannot use ${label}: ${error.message}.`, {
      cause: error,
    });
  }
}
