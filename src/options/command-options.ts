import { z } from 'zod';
import * as kinds from './kinds.ts';
import { expected, kind, option, pick, refusal, type SettingsOf, under, varied } from './option.ts';
import { OPTIONS } from './options.ts';

export { OPTIONS as ENRICH_OPTIONS } from './options.ts';

// The options of all commands but enrich and run. Those that enrich has too are the same, but for
// what is said here.

const { file, flag, integer, oneOf, share, text } = kinds;

const OF_API = pick(OPTIONS, 'api', 'baseUrl', 'auth', 'apiKeyFile', 'params', 'headers');
const OF_QUEUE = {
  queue: varied(OPTIONS.queue, { help: 'Redis of the queue, such as redis://localhost:6379/0' }),
};
const { allowHost } = under('Page and metrics', {
  allowHost: option(kinds.hosts(), {
    help: 'name, or NAME:PORT, under which its pages may be asked for, besides localhost and addresses',
  }),
});
const OF_STATUS = {
  listen: varied(OPTIONS.listen, {
    help: 'serve /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  }),
  allowHost,
};

/** Of `try`: those of `enrich`, with defaults for somebody who is waiting. */
export const TRY_OPTIONS = {
  ...OF_API,
  ...pick(OPTIONS, 'registrable', 'fields', 'prefix', 'rate', 'timeout'),
  retries: varied(OPTIONS.retries, { default: '2' }),
  maxWait: varied(OPTIONS.maxWait, { default: '10s' }),
  ...pick(OPTIONS, 'maxCallsPer', 'noWait', 'fresh', 'freshNotFound', 'store'),
  refresh: varied(OPTIONS.refresh, {
    help: 'look the domain up again, however fresh the answer in the store is',
  }),
};

export const WORKER_OPTIONS = {
  ...OF_QUEUE,
  ...OF_API,
  ...pick(OPTIONS, 'concurrency', 'rate', 'retries', 'timeout', 'maxWait', 'maxOutage'),
  ...pick(OPTIONS, 'maxCallsPer'),
  ...under('Workers on a queue', {
    drain: option(kinds.duration(), {
      default: '25s',
      help: 'how long calls in flight may still take once the worker is told to stop',
    }),
  }),
  ...OF_STATUS,
};
export type WorkerSettings = SettingsOf<typeof WORKER_OPTIONS>;

export const ADD_OPTIONS = {
  ...OF_QUEUE,
  ...pick(OPTIONS, 'api', 'baseUrl', 'params'),
  ...pick(OPTIONS, 'sheet', 'domainColumn', 'registrable', 'encoding', 'noHeader', 'skipLines'),
  ...under('Workers on a queue', {
    ref: option(text('TEXT'), {
      help: 'reference that comes back with each outcome (default: the name of the file)',
    }),
    interactive: option(flag(), {
      help: 'go ahead of all lists that were added without this option, because somebody is waiting for the outcomes',
    }),
  }),
};
export type AddSettings = SettingsOf<typeof ADD_OPTIONS>;

export const COLLECT_OPTIONS = {
  ...OF_QUEUE,
  ...under('Files', {
    outDir: option(file('DIR'), {
      default: 'out',
      help: 'folder to write the files to; for one collector at a time',
    }),
  }),
  ...OF_STATUS,
};
export type CollectSettings = SettingsOf<typeof COLLECT_OPTIONS>;

export const SCHEDULE_OPTIONS = { ...OF_QUEUE, ...OF_STATUS };

export const DASHBOARD_OPTIONS = {
  ...OF_QUEUE,
  ...under('Page and metrics', {
    listen: option(kinds.listen(), {
      default: '8081',
      help: 'address to serve the page on; only on this machine unless a HOST is given',
    }),
  }),
  allowHost,
};

export const APP_OPTIONS = {
  ...under('Files', {
    dir: option(file('DIR'), {
      env: 'BRANDFILL_APP_DIR',
      help: 'folder for lists, results and answers (default: Brandfill in your home folder)',
    }),
  }),
  ...under('Page and metrics', {
    port: option(integer(0, 65_535), {
      help: 'port of the page; 0 for any that is free (default: 4180, or one that is free)',
    }),
    host: option(text('ADDRESS'), {
      default: '127.0.0.1',
      help: 'address to listen on; for others to reach the page, with a token',
    }),
    allowHost,
  }),
};

/** Of all commands that look after a store. The environment does not choose among APIs. */
export const STORE_OPTIONS = {
  store: OPTIONS.store,
  ...under('The API', {
    api: option(kinds.profile(), {
      help: 'only outcomes from the API of this profile (default: all in the store)',
    }),
    baseUrl: option(kinds.baseUrl(), {
      help: 'only outcomes from this API (default: all in the store)',
    }),
    params: varied(OPTIONS.params, {
      help: 'with --base-url: query parameter that goes with every call',
    }),
  }),
};

export const GET_OPTIONS = { ...STORE_OPTIONS, registrable: OPTIONS.registrable };

const { dryRun } = under('What is shown', {
  dryRun: option(flag(), { help: 'count only; remove nothing' }),
});

export const DELETE_OPTIONS = { ...GET_OPTIONS, dryRun };

export const PRUNE_OPTIONS = {
  ...STORE_OPTIONS,
  ...under('Answers that are kept', {
    olderThan: option(kinds.anyDuration(), {
      help: 'remove outcomes older than this, such as 180d',
    }),
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

export const LOG_FLAGS = under('What is shown', {
  logLevel: option(oneOf('debug', 'info', 'warn', 'error'), {
    env: 'BRANDFILL_LOG_LEVEL',
    default: 'info',
    placeholder: 'LEVEL',
    help: 'least severe level to log, on standard error: debug, info, warn or error',
  }),
  logFormat: option(oneOf('auto', 'text', 'json'), {
    env: 'BRANDFILL_LOG_FORMAT',
    default: 'auto',
    placeholder: 'FORMAT',
    help: 'text for people, or json with one object per line; auto is text (for a run, without times and its id), or json if NODE_ENV is production and standard error is not a terminal',
  }),
});

/** Of `enrich` and `run`. */
export const RUN_FLAGS = {
  ...under('What is shown', {
    dryRun: option(flag(), { help: 'read the list and show the plan; make no calls' }),
    progress: option(oneOf('auto', 'bar', 'lines', 'none'), {
      default: 'auto',
      placeholder: 'STYLE',
      help: 'how to show progress, on standard error: bar, lines or none; auto is a bar on a terminal and lines elsewhere',
    }),
    json: option(flag(), { help: 'print the run (or the plan) to standard output as JSON' }),
  }),
  ...LOG_FLAGS,
};

export const TRY_FLAGS = under('What is shown', {
  preset: option(flag(), {
    help: 'print the columns to standard output as a file for --fields @FILE',
  }),
  explain: option(flag(), {
    help: 'say what each answer means, and which rule of the profile decided',
  }),
  json: option(flag(), { help: 'print everything to standard output as JSON' }),
});

export const ADD_FLAGS = under('What is shown', {
  dryRun: option(flag(), { help: 'read and count only; add nothing' }),
  json: option(flag(), { help: 'print the counts to standard output as JSON' }),
});

export const RUN_OPTIONS = {
  ...under('Files', {
    input: option(file(), { help: 'use this list instead of the one in the job file' }),
  }),
  ...OPTIONS,
};

export const SCHEDULE_FLAGS = {
  ...under('What is shown', {
    list: option(flag(), { help: 'show the schedules, and how the last runs went' }),
    run: option(text('JOB'), {
      help: 'run a scheduled job now, in the process that keeps its schedule',
    }),
    json: option(flag(), { help: 'with --list: print JSON' }),
  }),
  ...LOG_FLAGS,
};

export const APP_FLAGS = under('Page and metrics', {
  noOpen: option(flag(), { help: 'print the address, and do not open the browser' }),
});

/** Of commands that only print. */
export const JSON_FLAGS = under('What is shown', {
  json: option(flag(), { help: 'print JSON' }),
});

const latency = kind(
  z.string(),
  (given): number | { readonly fromMs: number; readonly toMs: number } => {
    const [from = '', ...to] = given.split('-');
    const fromMs = kinds.parseDuration(from);
    return to.length === 0 ? fromMs : { fromMs, toMs: kinds.parseDuration(to.join('-')) };
  },
  { placeholder: 'TIME' },
);

const callsAllowed = kind(
  z.string(),
  (given) => {
    const rate = kinds.parseRate(given);
    if (rate === 'auto') throw refusal(expected('a rate such as 50/s', given));
    return rate;
  },
  { placeholder: 'RATE' },
);

export const SANDBOX_FLAGS = under('The stand-in', {
  host: option(text('ADDRESS'), { default: '127.0.0.1', help: 'address to listen on' }),
  port: option(integer(0, 65_535), {
    default: '8080',
    help: 'port to listen on; 0 takes any free one',
  }),
  latency: option(latency, {
    help: 'time per call, such as 80ms, or a log-normal range such as 20ms-7s',
  }),
  limit: option(callsAllowed, {
    help: 'calls allowed, such as 50/s',
  }),
  limitKind: option(oneOf('token-bucket', 'fixed-window', 'sliding-window'), {
    placeholder: 'KIND',
    help: 'how calls count towards the limit: token-bucket, fixed-window or sliding-window (default: token-bucket)',
  }),
  limitHeaders: option(oneOf('none', 'retry-after', 'ratelimit', 'x-ratelimit'), {
    placeholder: 'STYLE',
    help: 'headers that report the limit: none, retry-after, ratelimit or x-ratelimit (default: retry-after)',
  }),
  api: option(kinds.profile(), { help: 'play the API of a profile, by its samples' }),
  errors: option(share(), { help: 'share of the calls answered 5xx, such as 2%' }),
  notFound: option(share(), { help: 'share of the domains answered 404' }),
  auth: option(kinds.auth(), {
    help: 'require a credential: bearer, basic, header:NAME or query:NAME',
  }),
  key: option(text('TEXT'), { help: 'credential to require; do not use a real one' }),
  quota: option(integer(0), { help: 'number of calls until the answer is 402' }),
  logos: option(flag(), { help: 'also serve pictures, and have answers point to them' }),
  respond: option(file(), {
    help: 'module (.mjs) whose function respond(domain, call) answers some of the calls',
  }),
  seed: option(integer(0), { default: '1', help: 'seed that determines answers and faults' }),
});
