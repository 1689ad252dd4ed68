import {
  ADDRESS_RANGES,
  ANY_DURATION,
  ANY_TEXT,
  AUTH,
  BASE_URL,
  CALLS_PER,
  COST,
  duration,
  ENCODING,
  FIELDS,
  FILE,
  FILLS,
  FLAG,
  FOLDER,
  HEADERS,
  HOSTS,
  integer,
  type Kind,
  LISTEN,
  LOGO_FIELD,
  LONGEST_TIMER_MS,
  OUTCOMES,
  PARAMS,
  PICTURE_SIZE,
  PRICE,
  PROFILE,
  RATE,
  REDIS_URL,
  REPORTS,
  SHARE,
  text,
  WORKERS_HERE,
} from './kinds.ts';

/**
 * One option, said once: flag, environment variable, key of a job file, library, help, schema and
 * docs all come from here. Its key is its name in the library.
 */
export interface Declaration<T = unknown, G = unknown> {
  readonly kind: Kind<T, G>;
  /** Its name as a flag and in job files. @default its key */
  readonly name?: string;
  /** Environment variable it is read from when it is not given. */
  readonly env?: string;
  /** As a user would write it. */
  readonly default?: string;
  /** The default when a job file says how to run, if it is a different one. */
  readonly defaultInJobFile?: string;
  /** Whether it names a file that a run writes anew. */
  readonly isOutput?: boolean;
  readonly description: string;
}

/** Options by their names in the library, in the order of the help. */
export type Declarations = Readonly<Record<string, Declaration>>;

/** The values of options, read and checked; undefined for those without a value or a default. */
export type SettingsOf<D extends Declarations> = {
  readonly [K in keyof D]: D[K] extends { readonly default: string }
    ? ReturnType<D[K]['kind']['parse']>
    : ReturnType<D[K]['kind']['parse']> | undefined;
};

/** Options as programs give them. */
export type OptionsOf<D extends Declarations> = {
  readonly [K in keyof D]?: NonNullable<D[K]['kind']['given']> | undefined;
};

/** Some of the options. */
export function pick<D extends Declarations, K extends keyof D>(
  from: D,
  ...keys: readonly K[]
): Pick<D, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<D, K>;
}

/** Files of a run. */
const FILE_OPTIONS = {
  /** The file for the enriched rows. @default `<input>.enriched.<ext>` */
  out: {
    kind: FILE,
    isOutput: true,
    description:
      'write the enriched rows to this file; - is standard output (default: <input>.enriched.<ext>)',
  },
  /**
   * The file for rows not enriched.
   *
   * @default `<input>.failures.<ext>`, beside `out` for rows and standard input, or a sheet of a workbook
   */
  failures: {
    kind: FILE,
    isOutput: true,
    description:
      'write the rows that were not enriched to this file (default: <input>.failures.<ext>, or a sheet in the output if that is a workbook)',
  },
  /** The file for rows that are new, or whose enriched values differ from those of the last run. */
  changes: {
    kind: FILE,
    isOutput: true,
    description:
      'write the rows that are new, or whose enriched values have changed since the last run, to this file',
  },
  /** With `changes`: the column that identifies rows from run to run. @default the domain */
  key: {
    kind: text('COLUMN'),
    description:
      'with --changes: column that identifies a row from run to run (default: the domain)',
  },
  /** An earlier output, into which new finds are merged. The input is then its failures file. */
  merge: {
    kind: FILE,
    description:
      'merge the results into this earlier output, each in its original row; the input is its failures file',
  },
  /** Whether CSV outputs begin with a byte order mark, so that Excel reads UTF-8. @default false */
  excel: {
    kind: FLAG,
    description: 'start CSV outputs with a byte order mark, so that Excel reads them as UTF-8',
  },
  /** Files for reports of the run, each a page (`.html`) or data (`.json`). */
  report: {
    kind: REPORTS,
    isOutput: true,
    description:
      'write a report of the run to this file: a self-contained page (.html), or its data (.json)',
  },
} satisfies Declarations;

/** The API, and how it is called. */
const API_OPTIONS = {
  /**
   * The profile of the API: the name of one that is shipped, or the path of a YAML or JSON file.
   *
   * @default BRANDFILL_API, else the standard contract
   */
  api: {
    kind: PROFILE,
    env: 'BRANDFILL_API',
    description:
      'profile of the API, by its name (see brandfill api list) or as a YAML or JSON file: how the API is asked and what its answers mean (default: the standard, GET {base_url}/v1/brand?domain=…)',
  },
  /**
   * The API; calls go to `{baseUrl}/v1/brand?domain=…` unless a profile says otherwise.
   *
   * @default BRANDFILL_BASE_URL
   */
  baseUrl: {
    kind: BASE_URL,
    env: 'BRANDFILL_BASE_URL',
    description:
      'base URL of the API; calls go to {base_url}/v1/brand?domain=…, and a path in it is kept',
  },
  /** `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`. @default BRANDFILL_AUTH, `none` */
  auth: {
    kind: AUTH,
    env: 'BRANDFILL_AUTH',
    default: 'none',
    description:
      'how to authenticate: none, bearer, basic, header:NAME or query:NAME; the credential is read from BRANDFILL_API_KEY or --api-key-file',
  },
  /** A file that holds only the credential. */
  apiKeyFile: {
    kind: FILE,
    description: 'file that holds the credential and nothing else',
  },
  /** Extra query parameters for every call. */
  params: {
    name: 'param',
    kind: PARAMS,
    description: 'extra query parameter for every call',
  },
  /** Extra headers for every call. */
  headers: {
    name: 'header',
    kind: HEADERS,
    description: 'extra header for every call; not for credentials',
  },
} satisfies Declarations;

/** How a list is read. */
const LIST_OPTIONS = {
  /** The sheet of a workbook with the list. @default the first that is not empty */
  sheet: {
    kind: text('NAME'),
    description:
      'sheet of the workbook that contains the list (default: the first that is not empty)',
  },
  /** The column with the domain, or its number in a CSV file, from 1. @default guessed */
  domainColumn: {
    kind: text('NAME'),
    description:
      'name of the column that holds the domain, or its position in a CSV file, from 1 (default: guessed from names and content, and reported)',
  },
  /** Whether to reduce each domain to its registrable part. @default false */
  registrable: {
    kind: FLAG,
    description:
      'reduce each domain to its registrable part: shop.example.co.uk becomes example.co.uk',
  },
  /** Whether `jo@gmail.com` is looked up rather than `invalid`, `free_mail`. @default false */
  keepFreeMail: {
    kind: FLAG,
    description:
      'look up the domain of an email address even at a free mail provider, such as gmail.com',
  },
  /** Whether `facebook.com/acme` is looked up rather than `invalid`, `shared_host`. @default false */
  keepSharedHosts: {
    kind: FLAG,
    description:
      'look up the host of a page even where many share it, such as facebook.com or bit.ly',
  },
  /** The encoding of the list, such as `'windows-1252'` or `'utf-16'`. @default detected */
  encoding: {
    kind: ENCODING,
    description:
      'encoding of the list, such as windows-1252 or utf-16 (default: detected, and reported)',
  },
  /** Whether a CSV file has no header. Its columns are then `column_1`, … @default false */
  noHeader: {
    kind: FLAG,
    description:
      'treat the first line of a CSV file as a row; columns are named column_1, column_2, …',
  },
  /** The number of lines above the header of a CSV file, which are skipped. @default 0 */
  skipLines: {
    kind: integer(0, 1_000),
    description: 'skip the first N lines of a CSV file, those above its header',
  },
} satisfies Declarations;

/** Columns that are added or filled. */
const COLUMN_OPTIONS = {
  /** Output columns as JMESPath into the answer, by name. @default the answer, flattened */
  fields: {
    kind: FIELDS,
    description:
      'output columns, as JMESPath expressions on the answer; @FILE reads them from a file (default: the answer, flattened)',
  },
  /** Without `fields`: the most flattened columns; further values go into `json`. @default 40 */
  maxColumns: {
    kind: integer(0, 1_000),
    default: '40',
    description:
      'without --fields: maximum number of columns of the flattened answer; anything beyond goes into one more column, json',
  },
  /** Values for blank cells of the list's own columns: JMESPath expressions by column. */
  fill: {
    kind: FILLS,
    description:
      "fill blank cells in one of the list's own columns with the value of a JMESPath expression",
  },
  /** The prefix of the names of all added columns. @default `brand_` */
  prefix: {
    kind: ANY_TEXT,
    default: 'brand_',
    description: 'prefix of the names of all added columns',
  },
} satisfies Declarations;

/** Pictures that answers point to. */
const LOGO_OPTIONS = {
  /** The folder for the logo of each domain; needs `logoField`. @default no logos are fetched */
  logos: {
    kind: FOLDER,
    description: 'save the logo of each domain in this folder; needs --logo-field',
  },
  /** The URL of a logo in an answer, as JMESPath, such as `logos[0].url`. */
  logoField: {
    kind: LOGO_FIELD,
    description:
      "with --logos: JMESPath expression for the logo's URL in the answer, such as logos[0].url",
  },
  /** The largest picture that is saved, at most 50MB. @default 1MB */
  logoMaxSize: {
    kind: PICTURE_SIZE,
    default: '1MB',
    description: 'with --logos: maximum size of a picture, up to 50MB; larger ones are not saved',
  },
  /** How many pictures are fetched at once, half of them from one host. @default 4 */
  logoConcurrency: {
    kind: integer(1, 256),
    default: '4',
    description:
      'with --logos: maximum number of pictures fetched at the same time, up to half of them from one host',
  },
  /** Hosts, or `HOST:PORT`, that may be in a private network. @default all must be public */
  logoAllow: {
    kind: HOSTS,
    description:
      'with --logos: host, or HOST:PORT, that may be in a private network; all others must have a public address',
  },
} satisfies Declarations;

/** How many calls are made, how fast, and when they stop. */
const CALL_OPTIONS = {
  /** The most calls in flight at the same time. @default 32 */
  concurrency: {
    kind: integer(1, 10_000),
    default: '32',
    description: 'maximum number of calls in flight at the same time',
  },
  /** `'20/s'`, `'300/min'` or `'auto'`. @default `auto` */
  rate: {
    kind: RATE,
    default: 'auto',
    description:
      'rate of calls to keep to, shared by all workers on a queue; auto finds the fastest rate that the API allows',
  },
  /** How often a lookup is retried. @default 5 */
  retries: {
    kind: integer(0, 100),
    default: '5',
    description: 'how many times to retry a lookup after a server error or a broken connection',
  },
  /** The longest that one call may take. @default 60s */
  timeout: {
    kind: duration(1, LONGEST_TIMER_MS),
    default: '60s',
    description: 'time limit for a single call',
  },
  /** The longest wait that the API may ask for before the run stops. @default 15min */
  maxWait: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '15min',
    description: 'longest wait that the API may ask for; if it asks for more, the run stops',
  },
  /** How long to wait for the end of an API outage before the run stops. @default 1h */
  maxOutage: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '1h',
    description: 'how long to wait during an outage of the API before the run stops',
  },
  /** How long to ask again about a domain that the API has accepted and has no answer ready for (202). @default 10min */
  maxPending: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '10min',
    description:
      'how long to ask again about a domain that the API has accepted and has no answer ready for (202)',
  },
  /** Stop after this many calls. Rows left over are `skipped`. */
  maxCalls: {
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    description:
      'stop after N calls (throttled ones do not count); the remaining rows are skipped, and the next run takes them up',
  },
  /** Stop after this many calls of all runs with this credential, such as `'1000/day'`, in UTC. */
  maxCallsPer: {
    kind: CALLS_PER,
    description:
      'stop after N calls in a calendar min, hour, day or month (UTC), such as 1000/day; the calls of all runs with this credential count together, throttled ones do not',
  },
  /** Stop before the API bills more than this, in the units of its profile; needs `api`. */
  maxCost: {
    kind: COST,
    description:
      'stop before the API bills more than this, in the units of its profile, such as credits; the remaining rows are skipped, and the next run takes them up',
  },
  /** Stop when more than this share of at least 200 lookups fails. @default 20% */
  maxFailed: {
    kind: SHARE,
    default: '20%',
    description:
      'stop when more than this share of lookups fails, out of at least 200; those that failed in the previous run do not count',
  },
  /** The price of a call, or of a unit that the profile bills in, for plan and summary: `0.01`. */
  price: {
    kind: PRICE,
    description:
      'cost of a call, such as 0.01, or of a unit where the profile of the API says what it bills; the plan and the summary then show the total',
  },
  /** How many domains to look up first, spread over the list, before `confirm` is asked. */
  sample: {
    kind: integer(1, 1_000),
    description:
      'look up N domains first, spread over the list; show what came of them and what the rest would cost, and ask for confirmation on a terminal',
  },
  /** The number of calls above which `confirm` is asked. @default 0; 10000 with a job file */
  confirmAbove: {
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: '0',
    defaultInJobFile: '10000',
    description:
      'on a terminal, ask for confirmation before a run that makes more than N calls; the default in a job file is 10000',
  },
  /** Whether to skip `confirm`. @default false */
  yes: {
    kind: FLAG,
    description: 'do not ask for confirmation',
  },
} satisfies Declarations;

/** Answers that are kept between runs, and how long they count. */
const STORE_OPTIONS = {
  /** How long an answer stays fresh. @default 30d */
  fresh: {
    kind: ANY_DURATION,
    default: '30d',
    description: 'how long an answer stays fresh; after that, the domain is looked up again',
  },
  /** The same for domains that were not found. @default 7d */
  freshNotFound: {
    kind: ANY_DURATION,
    default: '7d',
    description: 'the same for domains that were not found',
  },
  /** The same for domains that the API refused. @default 7d */
  freshRejected: {
    kind: ANY_DURATION,
    default: '7d',
    description: 'the same for domains that the API refused',
  },
  /** The share by which each of these durations may be shortened at random. @default 20% */
  freshJitter: {
    kind: SHARE,
    default: '20%',
    description:
      'shorten these durations at random by up to this share, so that answers fetched in one night do not all expire in one night; 0 for none',
  },
  /**
   * How old an answer may be that a row keeps, as `stale`, when its domain could not be looked up; 0
   * for none. @default any age
   */
  maxStale: {
    kind: ANY_DURATION,
    description:
      'how old an answer may be that a row keeps when its domain could not be looked up; 0 for none (default: any age)',
  },
  /** Whether to ask about every domain again, however fresh its answer is. @default false */
  refresh: {
    kind: FLAG,
    description: 'look up every domain again, however fresh its answer is',
  },
  /** Whether to ask only about domains that were never found. @default false */
  onlyMissing: {
    kind: FLAG,
    description:
      'look up only domains that were never found, even if they were tried recently; found answers stay, however old',
  },
  /** The folder where answers are kept between runs. @default BRANDFILL_STORE, else `.brandfill` */
  store: {
    kind: FOLDER,
    env: 'BRANDFILL_STORE',
    default: '.brandfill',
    description: 'folder that keeps answers between runs',
  },
} satisfies Declarations;

/** A run over Redis. */
const QUEUE_OPTIONS = {
  /** The Redis that carries lookups to workers. @default BRANDFILL_QUEUE, else this process only */
  queue: {
    kind: REDIS_URL,
    env: 'BRANDFILL_QUEUE',
    description:
      'Redis that carries lookups to workers, such as redis://localhost:6379/0 (default: none; this process makes all lookups)',
  },
  /** With a queue: 1 to make lookups here too, 0 to leave them to other workers. @default 1 */
  workers: {
    kind: WORKERS_HERE,
    default: '1',
    description:
      'with --queue: 1 makes lookups in this process too, 0 leaves them all to other workers',
  },
  /** With a queue: the number of lookups in a chunk, fewer for a short list. @default 50 */
  chunk: {
    kind: integer(1, 1_000),
    default: '50',
    description:
      'with --queue: number of lookups sent to a worker together; fewer for a short list',
  },
  /** With a queue: the most chunks under way. @default enough for `concurrency`, at least 64 */
  window: {
    kind: integer(1, 1_000_000),
    description:
      'with --queue: maximum number of chunks outstanding at the same time (default: enough for this --concurrency, at least 64)',
  },
  /** With a queue: how long a worker may be silent before others get its lookups. @default 15s */
  lostAfter: {
    kind: duration(1_000, 60 * 60_000),
    default: '15s',
    description:
      'with --queue: how long a worker may be silent before others take over its lookups',
  },
  /** Whether to accept a Redis that may evict lookups when its memory is full. @default false */
  acceptEviction: {
    kind: FLAG,
    description: 'use a Redis even if it may evict lookups when its memory is full',
  },
} satisfies Declarations;

const ALLOW_HOST = {
  kind: HOSTS,
  description:
    'with --listen: name, or NAME:PORT, under which /metrics and /readyz may be asked for, besides localhost and addresses',
} satisfies Declaration;

/** The HTTP server of a process that has no dashboard. */
export const STATUS_OPTIONS = {
  /** Serves `/metrics`, `/livez` and `/readyz`: a port, or `'HOST:PORT'`. @default no server */
  listen: {
    kind: LISTEN,
    description:
      'serve /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  },
  /** Names under which `/metrics` and `/readyz` may be asked for, besides addresses. @default none */
  allowHost: ALLOW_HOST,
} satisfies Declarations;

/** Who may see a dashboard. */
export const DASHBOARD_ACCESS_OPTIONS = {
  /** Names under which a page without a token may be asked for, besides addresses. @default none */
  allowHost: {
    ...ALLOW_HOST,
    description:
      'name, or NAME:PORT, under which the dashboard without a token may be asked for, besides localhost and addresses',
  },
  /** A file that holds only the token. */
  tokenFile: {
    kind: FILE,
    description:
      'file that holds the token for the dashboard; a token is required if other machines can reach it (default: BRANDFILL_DASHBOARD_TOKEN, else none)',
  },
  /** Addresses of proxies that say in `X-Forwarded-For` who asks for the dashboard. @default none */
  trustedProxy: {
    kind: ADDRESS_RANGES,
    description:
      'address, or range such as 10.0.0.0/8, of a proxy that says in X-Forwarded-For who asks; wrong tokens are slowed down for each who asks',
  },
} satisfies Declarations;

/** The HTTP server of a run, with its dashboard. */
const LISTEN_OPTIONS = {
  /**
   * Serves a dashboard, `/metrics`, `/livez` and `/readyz` during the run: a port, or
   * `'HOST:PORT'`.
   *
   * @default no server
   */
  listen: {
    kind: LISTEN,
    description:
      'serve a dashboard, /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  },
  ...DASHBOARD_ACCESS_OPTIONS,
  /**
   * Names under which `/metrics`, `/readyz` and a dashboard without a token may be asked for,
   * besides `localhost` and addresses. @default none
   */
  allowHost: {
    ...ALLOW_HOST,
    description:
      'with --listen: name, or NAME:PORT, under which /metrics, /readyz and a dashboard without a token may be asked for, besides localhost and addresses',
  },
} satisfies Declarations;

/** A second API, which is asked what the first does not know. Everything else is as at the first. */
const THEN_OPTIONS = {
  /**
   * The profile of a second API, which is asked about domains that the first does not know.
   *
   * @default BRANDFILL_THEN, else none
   */
  // oxlint-disable-next-line no-thenable -- a text, which nobody awaits
  then: {
    kind: PROFILE,
    env: 'BRANDFILL_THEN',
    description:
      'profile of a second API, by its name or as a file, that is asked about domains which the first does not know; the column brand_api then says which API answered (default: none)',
  },
  /** Which outcomes of the first API are passed on: `not_found`, `rejected`. @default `not_found` */
  thenOn: {
    kind: OUTCOMES,
    default: 'not_found',
    description:
      'with --then: outcomes of the first API after which the second is asked: not_found, rejected, or both with a comma',
  },
  /** The address of the second API. @default that of its profile */
  thenBaseUrl: {
    kind: BASE_URL,
    description: 'base URL of the second API (default: that of its profile)',
  },
  /** A file that holds only the credential of the second API. */
  thenApiKeyFile: {
    kind: FILE,
    description:
      'file that holds the credential of the second API and nothing else (default: the variable that its profile names, else BRANDFILL_THEN_API_KEY)',
  },
  /** The same as `rate`, for the second API. @default `auto` */
  thenRate: {
    kind: RATE,
    description: 'rate of calls to the second API (default: auto)',
  },
  /** The same as `maxCalls`, for the second API. */
  thenMaxCalls: {
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    description: 'ask the second API no more after N calls (throttled ones do not count)',
  },
  /** The same as `maxCallsPer`, for the second API. */
  thenMaxCallsPer: {
    kind: CALLS_PER,
    description:
      'ask the second API no more after N calls in a calendar min, hour, day or month (UTC); the calls of all runs with its credential count together',
  },
  /** The same as `maxCost`, for the second API. */
  thenMaxCost: {
    kind: COST,
    description: 'ask the second API no more before it bills more than this, in its own units',
  },
  /** The same as `price`, for the second API. */
  thenPrice: {
    kind: PRICE,
    description: 'cost of a call to the second API, or of a unit that it bills',
  },
} satisfies Declarations;

/** All options of `enrich` that job files have too, in the order of the help. */
export const OPTIONS = {
  ...FILE_OPTIONS,
  ...API_OPTIONS,
  ...THEN_OPTIONS,
  ...LIST_OPTIONS,
  ...COLUMN_OPTIONS,
  ...LOGO_OPTIONS,
  ...CALL_OPTIONS,
  ...STORE_OPTIONS,
  ...QUEUE_OPTIONS,
  ...LISTEN_OPTIONS,
} satisfies Declarations;

export type OptionKey = keyof typeof OPTIONS;

/** All settings of a run, read and checked. Durations are in milliseconds. */
export interface Settings extends SettingsOf<typeof OPTIONS> {}

/** Settings of the API and of how it is called. */
export type ApiSettings = SettingsOf<typeof API_OPTIONS>;

/** Settings of the HTTP server of a process. */
export type StatusSettings = SettingsOf<typeof STATUS_OPTIONS>;

/** The options of a second API, by those of the first that they stand for. */
const OF_SECOND = {
  api: 'then',
  baseUrl: 'thenBaseUrl',
  apiKeyFile: 'thenApiKeyFile',
  rate: 'thenRate',
  maxCalls: 'thenMaxCalls',
  maxCallsPer: 'thenMaxCallsPer',
  maxCost: 'thenMaxCost',
  price: 'thenPrice',
} as const satisfies Partial<Record<OptionKey, OptionKey>>;

/** Options of a second API, which say nothing without one. */
export const OPTIONS_OF_SECOND: readonly OptionKey[] = keysOf(THEN_OPTIONS).filter(
  (key) => key !== 'then',
);

/**
 * Options as given, as those of a run that asks the second API: what is only of the first is left
 * out, and the rest is the same.
 *
 * @param fallback the second API, if it is not given
 */
export function optionsOfSecond(
  given: Readonly<Record<string, unknown>>,
  fallback: string | undefined,
): Record<string, unknown> {
  const ofFirst = new Set<string>([...keysOf(API_OPTIONS), ...Object.keys(OF_SECOND), 'sample']);
  const ofBoth = Object.entries(given).filter(
    ([key]) => !ofFirst.has(key) && !Object.hasOwn(THEN_OPTIONS, key),
  );
  const own = Object.entries(OF_SECOND).map(([key, second]) => [key, given[second]] as const);
  const { api = fallback, ...second } = Object.fromEntries(own);
  return { ...Object.fromEntries(ofBoth), ...second, api };
}

/** The option of the second API that stands for one of the first, for messages. */
export function nameOfSecond(key: string): string {
  return Object.hasOwn(OF_SECOND, key) ? OF_SECOND[key as keyof typeof OF_SECOND] : key;
}

/** The options whose files a run writes anew. */
export const OUTPUT_OPTIONS: readonly OptionKey[] = keysOf(OPTIONS).filter(
  (key) => (OPTIONS[key] as Declaration).isOutput,
);

/** Options about files, which make no sense for a run that writes none. */
export const OPTIONS_OF_FILES: readonly string[] = [...keysOf(FILE_OPTIONS), 'changesId'];

function keysOf<D extends Declarations>(declared: D): readonly (keyof D & string)[] {
  return Object.keys(declared);
}

/** The name of an option as a flag and in job files. */
export function nameOf(key: string): string {
  const declared: Declarations = OPTIONS;
  return (Object.hasOwn(declared, key) && declared[key]?.name) || key;
}

/** `baseUrl` as a flag of the command line: `--base-url`. */
export function flagOf(key: string): string {
  return `--${nameOf(key).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Values by the names of flags or keys of a job file, as options of the library. */
export function toOptions(named: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const keys = new Map(keysOf(OPTIONS).map((key) => [nameOf(key), key as string]));
  return Object.fromEntries(
    Object.entries(named).map(([name, value]) => [keys.get(name) ?? name, value]),
  );
}
