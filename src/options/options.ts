import { nameIn, option, pick, type SettingsOf } from './option.ts';
import * as types from './types.ts';

/** All options of `enrich` that job files have too, in the order of the help. */
export const OPTIONS = {
  out: option(types.file(), {
    group: 'files',
    isOutput: true,
    help: 'write the enriched rows to this file; - is standard output (default: <input>.enriched.<ext>)',
  }),
  failures: option(types.file(), {
    group: 'files',
    isOutput: true,
    help: 'write the rows that were not enriched to this file (default: <input>.failures.<ext>, beside the output; .csv for a workbook)',
  }),
  changes: option(types.file(), {
    group: 'files',
    isOutput: true,
    help: 'write the rows that are new, or whose enriched values have changed since the last run, to this file',
  }),
  key: option(types.text('COLUMN'), {
    group: 'files',
    isAdvanced: true,
    help: 'with --changes: column that identifies a row from run to run (default: the domain)',
  }),
  report: option(types.reports(), {
    group: 'files',
    isOutput: true,
    help: 'write a report of the run to this file: a self-contained page (.html), or its data (.json)',
  }),
  excel: option(types.flag(), {
    group: 'files',
    isAdvanced: true,
    help: 'start CSV outputs with a byte order mark, so that Excel reads them as UTF-8',
  }),
  formulas: option(types.oneOf('guard', 'keep'), {
    group: 'files',
    isAdvanced: true,
    help: "text of the API that a spreadsheet would calculate: guard puts a ' before it in CSV, keep leaves it (default: guard)",
  }),

  domainColumn: option(types.text('NAME'), {
    group: 'list',
    help: 'name of the column that holds the domain, or its position in a CSV file, from 1 (default: guessed from names and content, and reported)',
  }),
  where: option(types.where(), {
    group: 'list',
    help: 'look up only rows whose cell in a column has one of these values, such as brand_status=not_found,failed; all others pass as they are',
  }),
  sheet: option(types.text('NAME'), {
    group: 'list',
    isAdvanced: true,
    help: 'sheet of the workbook that contains the list (default: the first that is not empty)',
  }),
  registrable: option(types.flag(), {
    group: 'list',
    isAdvanced: true,
    help: 'reduce each domain to its registrable part: shop.example.co.uk becomes example.co.uk',
  }),
  encoding: option(types.encoding(), {
    group: 'list',
    isAdvanced: true,
    help: 'encoding of the list, such as windows-1252 or utf-16 (default: detected, and reported)',
  }),
  noHeader: option(types.flag(), {
    group: 'list',
    isAdvanced: true,
    help: 'treat the first line of a CSV file as a row; columns are named column_1, column_2, …',
  }),
  skipLines: option(types.integer(0, 1_000), {
    group: 'list',
    isAdvanced: true,
    help: 'skip the first N lines of a CSV file, those above its header',
  }),

  baseUrl: option(types.baseUrl(), {
    group: 'api',
    env: 'BRANDFILL_BASE_URL',
    help: 'base URL of the API; calls go to {base_url}/v1/brand?domain=…, and a path in it is kept',
  }),
  api: option(types.profile(), {
    group: 'api',
    env: 'BRANDFILL_API',
    help: 'profile of the API, by its name (see brandfill api list) or as a YAML or JSON file: how the API is asked and what its answers mean (default: the standard, GET {base_url}/v1/brand?domain=…)',
  }),
  auth: option(types.auth(), {
    group: 'api',
    env: 'BRANDFILL_AUTH',
    default: 'none',
    help: 'how to authenticate: none, bearer, basic, header:NAME or query:NAME; the credential is read from BRANDFILL_API_KEY or --api-key-file',
  }),
  apiKeyFile: option(types.file(), {
    group: 'api',
    isAdvanced: true,
    help: 'file that holds the credential and nothing else',
  }),
  params: option(types.params(), {
    name: 'param',
    group: 'api',
    isAdvanced: true,
    help: 'extra query parameter for every call',
  }),
  headers: option(types.headers(), {
    name: 'header',
    group: 'api',
    isAdvanced: true,
    help: 'extra header for every call; not for credentials',
  }),

  fields: option(types.fields(), {
    group: 'columns',
    help: 'output columns, as JMESPath expressions on the answer; @FILE reads them from a file (default: the answer, flattened)',
  }),
  fill: option(types.fills(), {
    group: 'columns',
    isAdvanced: true,
    help: "fill blank cells in one of the list's own columns with the value of a JMESPath expression",
  }),
  prefix: option(types.anyText(), {
    group: 'columns',
    isAdvanced: true,
    default: 'brand_',
    help: 'prefix of the names of all added columns',
  }),
  logos: option(types.file('DIR'), {
    group: 'columns',
    isAdvanced: true,
    help: 'save the logo of each domain in this folder; needs --logo-field',
  }),
  logoField: option(types.logoField(), {
    group: 'columns',
    isAdvanced: true,
    help: "with --logos: JMESPath expression for the logo's URL in the answer, such as logos[0].url",
  }),
  logosSvg: option(types.flag(), {
    group: 'columns',
    isAdvanced: true,
    help: 'with --logos: save SVG too, which may hold scripts; as it came',
  }),
  logoAllow: option(types.hosts(), {
    group: 'columns',
    isAdvanced: true,
    help: 'with --logos: host, or HOST:PORT, that may be in a private network; all others must have a public address',
  }),

  rate: option(types.rate(), {
    group: 'calls',
    default: 'auto',
    help: 'rate of calls to keep to, shared by all workers on a queue; auto finds the fastest rate that the API allows',
  }),
  concurrency: option(types.integer(1, 10_000), {
    group: 'calls',
    default: '256',
    help: 'maximum number of calls in flight at the same time',
  }),
  sample: option(types.integer(1, 1_000), {
    group: 'calls',
    help: 'look up N domains first, spread over the list; show what came of them and what the rest would cost, and ask for confirmation on a terminal',
  }),
  maxCalls: option(types.integer(1), {
    group: 'calls',
    help: 'stop after N calls (throttled ones do not count); the remaining rows are skipped, and the next run takes them up',
  }),
  price: option(types.price(), {
    group: 'calls',
    help: 'cost of a call, such as 0.01, or of a unit where the profile of the API says what it bills; the plan and the summary then show the total',
  }),
  yes: option(types.flag(), { group: 'calls', help: 'do not ask for confirmation' }),
  maxCallsPer: option(types.callsPer(), {
    group: 'calls',
    isAdvanced: true,
    help: 'stop after N calls in a calendar min, hour, day or month (UTC), such as 1000/day; the calls of all runs with this credential count together, throttled ones do not',
  }),
  maxCost: option(types.cost(), {
    group: 'calls',
    isAdvanced: true,
    help: 'stop before the API bills more than this, in the units of its profile, such as credits; the remaining rows are skipped, and the next run takes them up',
  }),
  maxFailed: option(types.share(), {
    group: 'calls',
    isAdvanced: true,
    default: '20%',
    help: 'stop when more than this share of lookups fails, out of at least 200; those that failed in the previous run do not count',
  }),
  retries: option(types.integer(0, 100), {
    group: 'calls',
    isAdvanced: true,
    default: '5',
    help: 'how many times to retry a lookup after a server error or a broken connection',
  }),
  timeout: option(types.duration(1), {
    group: 'calls',
    isAdvanced: true,
    default: '60s',
    help: 'time limit for a single call',
  }),
  maxWait: option(types.duration(), {
    group: 'calls',
    isAdvanced: true,
    default: '15min',
    help: 'longest wait that the API may ask for; if it asks for more, the run stops',
  }),
  maxOutage: option(types.duration(), {
    group: 'calls',
    isAdvanced: true,
    default: '1h',
    help: 'how long to wait during an outage of the API before the run stops',
  }),
  maxPending: option(types.duration(), {
    group: 'calls',
    isAdvanced: true,
    default: '10min',
    help: 'how long to ask again about a domain that the API has accepted and has no answer ready for (202)',
  }),

  fresh: option(types.anyDuration(), {
    group: 'kept',
    default: '30d',
    help: 'how long an answer stays fresh; after that, the domain is looked up again',
  }),
  freshNotFound: option(types.anyDuration(), {
    group: 'kept',
    isAdvanced: true,
    default: '7d',
    help: 'the same for domains that were not found, or that the API refused',
  }),
  refresh: option(types.flag(), {
    group: 'kept',
    help: 'look up every domain again, however fresh its answer is',
  }),
  store: option(types.file('DIR'), {
    group: 'kept',
    env: 'BRANDFILL_STORE',
    default: '.brandfill',
    help: 'folder that keeps answers between runs',
  }),
  noWait: option(types.flag(), {
    group: 'kept',
    isAdvanced: true,
    help: 'end with exit code 2 when another run has the store, instead of waiting for it',
  }),

  queue: option(types.redisUrl(), {
    group: 'queue',
    env: 'BRANDFILL_QUEUE',
    help: 'Redis that carries lookups to workers, such as redis://localhost:6379/0 (default: none; this process makes all lookups)',
  }),
  workers: option(types.workersHere(), {
    group: 'queue',
    isAdvanced: true,
    default: '1',
    help: 'with --queue: 1 makes lookups in this process too, 0 leaves them all to other workers',
  }),
  acceptEviction: option(types.flag(), {
    group: 'queue',
    isAdvanced: true,
    help: 'use a Redis even if it may evict lookups when its memory is full',
  }),

  listen: option(types.listen(), {
    group: 'page',
    isAdvanced: true,
    help: 'serve a dashboard, /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  }),
  allowHost: option(types.hosts(), {
    group: 'page',
    isAdvanced: true,
    help: 'with --listen: name, or NAME:PORT, under which /metrics, /readyz and a page without a token may be asked for, besides localhost and addresses',
  }),
};

export type OptionKey = keyof typeof OPTIONS;

/** All settings of a run, read and checked. Durations are in milliseconds. */
export interface Settings extends SettingsOf<typeof OPTIONS> {}

/** The API, and how it is called. */
export type ApiSettings = Pick<
  Settings,
  'api' | 'baseUrl' | 'auth' | 'apiKeyFile' | 'params' | 'headers'
>;

/** Settings of the HTTP server of a process that has no page of its own. */
export type StatusSettings = Pick<Settings, 'listen' | 'allowHost'>;

/** Options about files, which make no sense for a run that writes none. */
export const OPTIONS_OF_FILES: readonly string[] = [
  ...Object.keys(pick(OPTIONS, 'out', 'failures', 'changes', 'key', 'excel', 'formulas', 'report')),
  'changesId',
];

/** The name of an option as a flag and in job files. */
export function nameOf(key: string): string {
  return nameIn(OPTIONS, key);
}

/** `baseUrl` as a flag of the command line: `--base-url`. */
export function flagOf(key: string): string {
  return `--${nameOf(key).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The same for commands where the list is an argument. */
export function flagOrArgument(key: string): string {
  return key === 'input' ? '<input>' : flagOf(key);
}

/** Values by the names of flags or keys of a job file, as options of the library. */
export function toOptions(named: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const keys = new Map(Object.keys(OPTIONS).map((key) => [nameOf(key), key]));
  return Object.fromEntries(
    Object.entries(named).map(([name, value]) => [keys.get(name) ?? name, value]),
  );
}
