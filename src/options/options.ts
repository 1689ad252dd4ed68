import { API_OPTIONS, CALL_OPTIONS, THEN_OPTIONS } from './api-options.ts';
import { type Declaration, type Declarations, keysOf, type SettingsOf } from './declaration.ts';
import {
  ANY_DURATION,
  ANY_TEXT,
  duration,
  ENCODING,
  FIELDS,
  FILE,
  FILLS,
  FLAG,
  FOLDER,
  integer,
  LOGO_FIELD,
  PICTURE_SIZE,
  REPORTS,
  SHARE,
  text,
  WORKERS_HERE,
} from './kinds.ts';
import { ADDRESS_RANGES, HOSTS, LISTEN, REDIS_URL } from './network-kinds.ts';

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

/** Settings of the HTTP server of a process. */
export type StatusSettings = SettingsOf<typeof STATUS_OPTIONS>;

/** The options whose files a run writes anew. */
export const OUTPUT_OPTIONS: readonly OptionKey[] = keysOf(OPTIONS).filter(
  (key) => (OPTIONS[key] as Declaration).isOutput,
);

/** Options about files, which make no sense for a run that writes none. */
export const OPTIONS_OF_FILES: readonly string[] = [...keysOf(FILE_OPTIONS), 'changesId'];

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
