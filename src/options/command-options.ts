import type { OutcomeStatus } from '../brand/outcome.ts';
import { BrandfillError } from '../common/errors.ts';
import {
  type Declarations,
  type Kind,
  type OptionsOf,
  pick,
  type SettingsOf,
} from './declaration.ts';
import {
  ANY_DURATION,
  duration,
  FILE,
  FLAG,
  FOLDER,
  integer,
  LONGEST_TIMER_MS,
  PROFILE,
  SIZE,
  text,
} from './kinds.ts';
import { BASE_URL, LISTEN } from './network-kinds.ts';
import { DASHBOARD_ACCESS_OPTIONS, OPTIONS, STATUS_OPTIONS } from './options.ts';

// The options of all commands but enrich and run. Those that enrich has too are the same, but for
// what is said here.

/** Of `try`: those of `enrich`, with defaults for somebody who is waiting. */
export const TRY_OPTIONS = {
  ...pick(
    OPTIONS,
    'api',
    'baseUrl',
    'auth',
    'apiKeyFile',
    'params',
    'headers',
    'registrable',
    'keepFreeMail',
    'keepSharedHosts',
    'fields',
    'maxColumns',
    'prefix',
    'rate',
  ),
  /** How often a lookup is retried. @default 2 */
  retries: { ...OPTIONS.retries, default: '2' },
  timeout: OPTIONS.timeout,
  /** The longest wait that the API may ask for. @default 10s */
  maxWait: { ...OPTIONS.maxWait, default: '10s' },
  /** How long to ask again when the API has no answer ready (202). @default 10s */
  maxPending: { ...OPTIONS.maxPending, default: '10s' },
  ...pick(
    OPTIONS,
    'maxCallsPer',
    'fresh',
    'freshNotFound',
    'freshRejected',
    'freshJitter',
    'refresh',
    'store',
  ),
  /** Whether to look the domain up again, however fresh its answer is. @default false */
  refresh: {
    ...OPTIONS.refresh,
    description: 'look the domain up again, however fresh the answer in the store is',
  },
} satisfies Declarations;

export const WORKER_OPTIONS = {
  /** The Redis that lookups are taken from. @default BRANDFILL_QUEUE */
  queue: { ...OPTIONS.queue, description: 'Redis to take lookups from' },
  ...pick(
    OPTIONS,
    'api',
    'baseUrl',
    'auth',
    'apiKeyFile',
    'params',
    'headers',
    'concurrency',
    'rate',
    'retries',
    'timeout',
    'maxWait',
    'maxOutage',
  ),
  /** The same for backfills; a run goes by its own. @default 10min */
  maxPending: {
    ...OPTIONS.maxPending,
    description: `${OPTIONS.maxPending.description}; a run goes by its own`,
  },
  maxCallsPer: OPTIONS.maxCallsPer,
  /** How long calls under way may take after the worker is told to stop. @default 25s */
  drain: {
    kind: duration(0, LONGEST_TIMER_MS),
    default: '25s',
    description: 'how long calls in flight may still take once the worker is told to stop',
  },
  ...pick(OPTIONS, 'lostAfter', 'acceptEviction'),
  ...STATUS_OPTIONS,
} satisfies Declarations;

export type WorkerSettings = SettingsOf<typeof WORKER_OPTIONS>;

export const ADD_OPTIONS = {
  /** The Redis that lookups are put on. @default BRANDFILL_QUEUE */
  queue: {
    ...OPTIONS.queue,
    description: 'Redis to put the lookups on, such as redis://localhost:6379/0',
  },
  ...pick(
    OPTIONS,
    'sheet',
    'domainColumn',
    'registrable',
    'keepFreeMail',
    'keepSharedHosts',
    'encoding',
    'noHeader',
    'skipLines',
  ),
  /** The number of lookups in a chunk. @default 50 */
  chunk: { ...OPTIONS.chunk, description: 'number of lookups sent to a worker together' },
  /** Returned with each outcome. @default the name of the file */
  ref: {
    kind: text('TEXT'),
    description: 'reference that comes back with each outcome (default: the name of the file)',
  },
  /** Whether a person waits. Such lookups go before all lists added without it. @default false */
  interactive: {
    kind: FLAG,
    description:
      'go ahead of all lists that were added without this option, because somebody is waiting for the outcomes',
  },
  /** The profile of the API that is meant. @default BRANDFILL_API, else any */
  api: {
    ...OPTIONS.api,
    description:
      'profile of the API to ask, by its name or as a file; workers with another one leave the lookups alone (default: any)',
  },
  /**
   * The API that is meant. Workers of other APIs ignore the lookups. @default BRANDFILL_BASE_URL,
   * else any
   */
  baseUrl: {
    ...OPTIONS.baseUrl,
    description:
      'base URL of the API to ask; workers for another API leave the lookups alone (default: any)',
  },
  /** With `baseUrl`: query parameters that the worker must have too. */
  params: {
    ...OPTIONS.params,
    description: 'with --base-url: query parameter that the worker must have too',
  },
  acceptEviction: OPTIONS.acceptEviction,
} satisfies Declarations;

export type AddSettings = SettingsOf<typeof ADD_OPTIONS>;

export const COLLECT_OPTIONS = {
  /** The Redis from which outcomes are taken. @default BRANDFILL_QUEUE */
  queue: { ...OPTIONS.queue, description: 'Redis to take outcomes from' },
  /** The folder for the files. @default 'out' */
  outDir: {
    kind: FOLDER,
    default: 'out',
    description: 'folder to write the files to; for one collector at a time',
  },
  /** The size at which the next file is begun: a text such as `'64MB'`, or bytes. @default 1GB */
  maxFileSize: {
    kind: SIZE,
    default: '1GB',
    description: 'maximum size of a file before the next one is started',
  },
  acceptEviction: OPTIONS.acceptEviction,
  ...STATUS_OPTIONS,
} satisfies Declarations;

export type CollectSettings = SettingsOf<typeof COLLECT_OPTIONS>;

export const SCHEDULE_OPTIONS = {
  /** The Redis that keeps the schedules. @default BRANDFILL_QUEUE */
  queue: { ...OPTIONS.queue, description: 'Redis that keeps the schedules' },
  /** The name of these schedules there. @default made from the folder of the files */
  name: {
    kind: {
      ...text('NAME'),
      parse: (value: unknown) => {
        const name = text('NAME').parse(value);
        if (/^[\w.-]{1,64}$/.test(name)) return name;
        throw refusal(
          `expected up to 64 letters, digits, dots, dashes or underscores, received '${name}'`,
        );
      },
    },
    description:
      'name of these schedules in Redis; processes with the same files share a name (default: derived from the folder of the files)',
  },
  /** How long a process may be silent before its runs are given to another. @default 1min */
  lostAfter: {
    ...OPTIONS.lostAfter,
    default: '1min',
    description: 'how long a process may be silent before another takes over its runs',
  },
  acceptEviction: OPTIONS.acceptEviction,
  ...STATUS_OPTIONS,
} satisfies Declarations;

export type ScheduleSettings = SettingsOf<typeof SCHEDULE_OPTIONS>;

export const DASHBOARD_OPTIONS = {
  /** The Redis whose runs, workers and schedules are shown. @default BRANDFILL_QUEUE */
  queue: { ...OPTIONS.queue, description: 'Redis whose runs, workers and schedules are shown' },
  /** The address of the page: a port, or `'HOST:PORT'`. @default 8080, for this machine alone */
  listen: {
    kind: LISTEN,
    default: '8080',
    description: 'address to serve the page on; only on this machine unless a HOST is given',
  },
  ...DASHBOARD_ACCESS_OPTIONS,
  acceptEviction: OPTIONS.acceptEviction,
} satisfies Declarations;

export const APP_OPTIONS = {
  /** The folder for lists, results and answers. @default `Brandfill` in the home of the user */
  dir: {
    kind: FOLDER,
    env: 'BRANDFILL_APP_DIR',
    description: 'folder for lists, results and answers (default: Brandfill in your home folder)',
  },
  /** The port of the page; 0 for any that is free. @default 4180, or a free one if that is taken */
  port: {
    kind: integer(0, 65_535),
    description: 'port of the page; 0 for any that is free (default: 4180, or one that is free)',
  },
  /** The address to listen on. @default 127.0.0.1, for this machine alone */
  host: {
    kind: text('ADDRESS'),
    default: '127.0.0.1',
    description: 'address to listen on; for others to reach the page, with a token',
  },
  /** Names under which the page may be asked for, besides `localhost` and addresses. @default none */
  allowHost: {
    ...DASHBOARD_ACCESS_OPTIONS.allowHost,
    description:
      'name, or NAME:PORT, under which the page may be asked for, besides localhost and addresses',
  },
  /** A file that holds only the token. */
  tokenFile: {
    kind: FILE,
    description:
      'file that holds the token for the page; a token is required if other machines can reach it (default: BRANDFILL_APP_TOKEN, else none)',
  },
  /** Addresses of proxies that say in `X-Forwarded-For` who asks for the page. @default none */
  trustedProxy: DASHBOARD_ACCESS_OPTIONS.trustedProxy,
} satisfies Declarations;

/**
 * Of all commands that look after a store. Base URL and profile of the environment do not choose among
 * APIs.
 */
export const STORE_OPTIONS = {
  /** The folder of the store. @default BRANDFILL_STORE, else `.brandfill` */
  store: { ...OPTIONS.store, description: 'folder of the store' },
  /** Only outcomes of the API of this profile. @default all APIs in the store */
  api: {
    kind: PROFILE,
    description: 'only outcomes from the API of this profile (default: all in the store)',
  },
  /** Only outcomes of this API. @default all APIs in the store */
  baseUrl: {
    kind: BASE_URL,
    description: 'only outcomes from this API (default: all in the store)',
  },
  /** With `baseUrl`: the query parameters that are sent with every call. */
  params: {
    ...OPTIONS.params,
    description: 'with --base-url: query parameter that goes with every call',
  },
} satisfies Declarations;

export type StoreSettings = SettingsOf<typeof STORE_OPTIONS>;

/** Selects a store, and one of the APIs in it. */
export interface StoreChoice extends OptionsOf<typeof STORE_OPTIONS> {}

/** The name of an option in messages. The command line uses `--base-url`. */
export type StoreOptionNaming = (key: string) => string;

export const GET_OPTIONS = {
  ...STORE_OPTIONS,
  registrable: OPTIONS.registrable,
} satisfies Declarations;

const DRY_RUN = { kind: FLAG, description: 'count only; remove nothing' };

export const DELETE_OPTIONS = {
  ...GET_OPTIONS,
  /** Whether to count without deleting. @default false */
  dryRun: DRY_RUN,
} satisfies Declarations;

const STATUSES: readonly OutcomeStatus[] = ['found', 'not_found', 'rejected', 'failed', 'pending'];

/** An outcome's status, such as `not_found`. */
const STATUS: Kind<OutcomeStatus, OutcomeStatus> = {
  placeholder: 'STATUS',
  schema: { enum: STATUSES },
  show: (status) => status,
  parse: (value) => {
    const status = STATUSES.find((known) => known === value);
    if (status !== undefined) return status;
    throw refusal(`expected found, not_found, rejected or failed, received '${String(value)}'`);
  },
};

export const EXPORT_OPTIONS = {
  ...STORE_OPTIONS,
  /** For the command; the library passes outcomes on to its caller. */
  out: {
    kind: FILE,
    description: 'write the outcomes to this file (default: standard output)',
  },
  /** Only outcomes of this status. @default all */
  status: {
    kind: STATUS,
    description: 'only outcomes with this status: found, not_found, rejected or failed',
  },
} satisfies Declarations;

export const PRUNE_OPTIONS = {
  ...STORE_OPTIONS,
  /** The age above which outcomes are removed: a text such as `'180d'`, or milliseconds. */
  olderThan: {
    kind: ANY_DURATION,
    description: 'remove outcomes older than this, such as 180d',
  },
  /** Whether to count without removing. @default false */
  dryRun: DRY_RUN,
} satisfies Declarations;

export const IMPORT_OPTIONS = {
  ...STORE_OPTIONS,
  api: {
    ...STORE_OPTIONS.api,
    description: 'import all outcomes for the API of this profile',
  },
  baseUrl: {
    ...STORE_OPTIONS.baseUrl,
    description: 'import all outcomes for this API (default: the one that each line names)',
  },
} satisfies Declarations;

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}
