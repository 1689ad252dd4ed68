import { z } from 'zod';
import { expected, option, pick, refusal, type SettingsOf, type, varied } from './option.ts';
import { OPTIONS } from './options.ts';
import * as types from './types.ts';

// The options of all commands but enrich and run. Those that enrich has too are the same, but for
// what is said here.

const OF_API = pick(OPTIONS, 'api', 'baseUrl', 'auth', 'apiKeyFile', 'params', 'headers');
const OF_QUEUE = {
  queue: varied(OPTIONS.queue, { help: 'Redis of the queue, such as redis://localhost:6379/0' }),
  acceptEviction: OPTIONS.acceptEviction,
};
const OF_STATUS = {
  listen: varied(OPTIONS.listen, {
    help: 'serve /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  }),
  allowHost: OPTIONS.allowHost,
};

/** A switch about what is shown. */
const shown = (help: string) => option(types.flag(), { group: 'shown', help });

/** Of `try`: those of `enrich`, with defaults for somebody who is waiting. */
export const TRY_OPTIONS = {
  ...OF_API,
  ...pick(OPTIONS, 'registrable', 'fields', 'prefix', 'rate', 'timeout'),
  retries: varied(OPTIONS.retries, { default: '2' }),
  maxWait: varied(OPTIONS.maxWait, { default: '10s' }),
  maxPending: varied(OPTIONS.maxPending, { default: '10s' }),
  ...pick(OPTIONS, 'maxCallsPer', 'noWait', 'fresh', 'freshNotFound', 'store'),
  refresh: varied(OPTIONS.refresh, {
    help: 'look the domain up again, however fresh the answer in the store is',
  }),
};

export const WORKER_OPTIONS = {
  ...OF_QUEUE,
  ...OF_API,
  ...pick(OPTIONS, 'concurrency', 'rate', 'retries', 'timeout', 'maxWait', 'maxOutage'),
  ...pick(OPTIONS, 'maxPending', 'maxCallsPer'),
  drain: option(types.duration(), {
    group: 'queue',
    default: '25s',
    help: 'how long calls in flight may still take once the worker is told to stop',
  }),
  ...OF_STATUS,
};
export type WorkerSettings = SettingsOf<typeof WORKER_OPTIONS>;

export const ADD_OPTIONS = {
  ...OF_QUEUE,
  ...pick(OPTIONS, 'api', 'baseUrl', 'params'),
  ...pick(OPTIONS, 'sheet', 'domainColumn', 'registrable', 'encoding', 'noHeader', 'skipLines'),
  ref: option(types.text('TEXT'), {
    group: 'queue',
    help: 'reference that comes back with each outcome (default: the name of the file)',
  }),
  interactive: option(types.flag(), {
    group: 'queue',
    help: 'go ahead of all lists that were added without this option, because somebody is waiting for the outcomes',
  }),
};
export type AddSettings = SettingsOf<typeof ADD_OPTIONS>;

export const COLLECT_OPTIONS = {
  ...OF_QUEUE,
  outDir: option(types.file('DIR'), {
    group: 'files',
    default: 'out',
    help: 'folder to write the files to; for one collector at a time',
  }),
  ...OF_STATUS,
};
export type CollectSettings = SettingsOf<typeof COLLECT_OPTIONS>;

export const SCHEDULE_OPTIONS = { ...OF_QUEUE, ...OF_STATUS };

export const DASHBOARD_OPTIONS = {
  ...OF_QUEUE,
  listen: option(types.listen(), {
    group: 'page',
    default: '8081',
    help: 'address to serve the page on; only on this machine unless a HOST is given',
  }),
  allowHost: OPTIONS.allowHost,
};

export const APP_OPTIONS = {
  dir: option(types.file('DIR'), {
    group: 'files',
    env: 'BRANDFILL_APP_DIR',
    help: 'folder for lists, results and answers (default: Brandfill in your home folder)',
  }),
  port: option(types.integer(0, 65_535), {
    group: 'page',
    help: 'port of the page; 0 for any that is free (default: 4180, or one that is free)',
  }),
  host: option(types.text('ADDRESS'), {
    group: 'page',
    default: '127.0.0.1',
    help: 'address to listen on; for others to reach the page, with a token',
  }),
  allowHost: varied(OPTIONS.allowHost, {
    help: 'name, or NAME:PORT, under which the page may be asked for, besides localhost and addresses',
  }),
};

/** Of all commands that look after a store. The environment does not choose among APIs. */
export const STORE_OPTIONS = {
  store: OPTIONS.store,
  api: option(types.profile(), {
    group: 'api',
    help: 'only outcomes from the API of this profile (default: all in the store)',
  }),
  baseUrl: option(types.baseUrl(), {
    group: 'api',
    help: 'only outcomes from this API (default: all in the store)',
  }),
  params: varied(OPTIONS.params, {
    help: 'with --base-url: query parameter that goes with every call',
  }),
};
export const GET_OPTIONS = { ...STORE_OPTIONS, registrable: OPTIONS.registrable };

const dryRun = shown('count only; remove nothing');

export const DELETE_OPTIONS = { ...GET_OPTIONS, dryRun };

export const PRUNE_OPTIONS = {
  ...STORE_OPTIONS,
  olderThan: option(types.anyDuration(), {
    group: 'kept',
    help: 'remove outcomes older than this, such as 180d',
  }),
  dryRun,
};

export const IMPORT_OPTIONS = {
  ...STORE_OPTIONS,
  api: varied(STORE_OPTIONS.api, { help: 'import all outcomes for the API of this profile' }),
  baseUrl: varied(STORE_OPTIONS.baseUrl, {
    help: 'import all outcomes for this API (default: the one that each line names)',
  }),
};

// Options that only the command line has.

export const NO_FLAGS = {};

export const LOG_FLAGS = {
  logLevel: option(types.oneOf('debug', 'info', 'warn', 'error'), {
    group: 'shown',
    env: 'BRANDFILL_LOG_LEVEL',
    default: 'info',
    placeholder: 'LEVEL',
    help: 'least severe level to log, on standard error: debug, info, warn or error',
  }),
  logFormat: option(types.oneOf('auto', 'text', 'json'), {
    group: 'shown',
    env: 'BRANDFILL_LOG_FORMAT',
    default: 'auto',
    placeholder: 'FORMAT',
    help: 'text for people, or json with one object per line; auto is text (for a run, without times and its id), or json if NODE_ENV is production and standard error is not a terminal',
  }),
};

/** Of `enrich` and `run`. */
export const RUN_FLAGS = {
  dryRun: shown('read the list and show the plan; make no calls'),
  progress: option(types.oneOf('auto', 'bar', 'lines', 'none'), {
    group: 'shown',
    default: 'auto',
    placeholder: 'STYLE',
    help: 'how to show progress, on standard error: bar, lines or none; auto is a bar on a terminal and lines elsewhere',
  }),
  json: shown('print the run (or the plan) to standard output as JSON'),
  ...LOG_FLAGS,
};

export const TRY_FLAGS = {
  preset: shown('print the columns to standard output as a file for --fields @FILE'),
  explain: shown('say what each answer means, and which rule of the profile decided'),
  json: shown('print everything to standard output as JSON'),
};

export const ADD_FLAGS = {
  dryRun: shown('read and count only; add nothing'),
  json: shown('print the counts to standard output as JSON'),
};

export const ENRICH_OPTIONS = OPTIONS;

export const RUN_OPTIONS = {
  input: option(types.file(), {
    group: 'files',
    help: 'use this list instead of the one in the job file',
  }),
  ...OPTIONS,
};

export const SCHEDULE_FLAGS = {
  list: shown('show the schedules, and how the last runs went'),
  run: option(types.text('JOB'), {
    group: 'queue',
    help: 'run a scheduled job now, in the process that keeps its schedule',
  }),
  json: shown('with --list: print JSON'),
  ...LOG_FLAGS,
};

export const APP_FLAGS = {
  noOpen: option(types.flag(), {
    group: 'page',
    help: 'print the address, and do not open the browser',
  }),
};

/** Of commands that only print. */
export const JSON_FLAGS = { json: shown('print JSON') };

const latency = type(
  z.string(),
  (given): number | { readonly fromMs: number; readonly toMs: number } => {
    const [from = '', ...to] = given.split('-');
    const fromMs = types.parseDuration(from);
    return to.length === 0 ? fromMs : { fromMs, toMs: types.parseDuration(to.join('-')) };
  },
  { placeholder: 'TIME' },
);

const callsAllowed = type(
  z.string(),
  (given) => {
    const rate = types.parseRate(given);
    if (rate === 'auto') throw refusal(expected('a rate such as 50/s', given));
    return rate;
  },
  { placeholder: 'RATE' },
);

const ofSandbox = <T extends z.ZodType>(kind: T, help: string, placeholder?: string) =>
  option(kind, { group: 'sandbox', help, ...(placeholder && { placeholder }) });

export const SANDBOX_FLAGS = {
  host: option(types.text('ADDRESS'), {
    group: 'page',
    default: '127.0.0.1',
    help: 'address to listen on',
  }),
  port: option(types.integer(0, 65_535), {
    group: 'page',
    default: '8080',
    help: 'port to listen on; 0 takes any free one',
  }),
  latency: ofSandbox(latency, 'time per call, such as 80ms, or a log-normal range such as 20ms-7s'),
  limit: ofSandbox(callsAllowed, 'calls allowed, such as 50/s'),
  limitKind: ofSandbox(
    types.oneOf('token-bucket', 'fixed-window', 'sliding-window'),
    'how calls count towards the limit: token-bucket, fixed-window or sliding-window (default: token-bucket)',
    'KIND',
  ),
  limitHeaders: ofSandbox(
    types.oneOf('none', 'retry-after', 'ratelimit', 'x-ratelimit'),
    'headers that report the limit: none, retry-after, ratelimit or x-ratelimit (default: retry-after)',
    'STYLE',
  ),
  api: ofSandbox(types.profile(), 'play the API of a profile, by its samples'),
  errors: ofSandbox(types.share(), 'share of the calls answered 5xx, such as 2%'),
  notFound: ofSandbox(types.share(), 'share of the domains answered 404'),
  auth: ofSandbox(types.auth(), 'require a credential: bearer, basic, header:NAME or query:NAME'),
  key: ofSandbox(types.text('TEXT'), 'credential to require; do not use a real one'),
  quota: ofSandbox(types.integer(0), 'number of calls until the answer is 402'),
  logos: ofSandbox(types.flag(), 'also serve pictures, and have answers point to them'),
  respond: ofSandbox(
    types.file(),
    'module (.mjs) whose function respond(domain, call) answers some of the calls',
  ),
  seed: option(types.integer(0), {
    group: 'sandbox',
    default: '1',
    help: 'seed that determines answers and faults',
  }),
};
