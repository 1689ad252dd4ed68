import * as kinds from './kinds.ts';
import {
  metaOf,
  nameOptions,
  option,
  pick,
  required,
  type SettingsOf,
  under,
  varied,
} from './option.ts';

/** Of every command that reads a list. */
export const LIST_OPTIONS = under('The list', {
  domainColumn: option(kinds.text('NAME'), {
    help: 'name of the column that holds the domain, or its position in a CSV file, from 1 (default: guessed from names and content, and reported)',
  }),
  sheet: option(kinds.text('NAME'), {
    help: 'sheet of the workbook that contains the list (default: the first that is not empty)',
  }),
  registrable: option(kinds.flag(), {
    help: 'reduce each domain to its registrable part: shop.example.co.uk becomes example.co.uk',
  }),
  encoding: option(kinds.encoding(), {
    help: 'encoding of the list, such as windows-1252 or utf-16 (default: detected, and reported)',
  }),
  noHeader: option(kinds.flag(), {
    help: 'treat the first line of a CSV file as a row; columns are named column_1, column_2, …',
  }),
  skipLines: option(kinds.integer(0, 1_000), {
    help: 'skip the first N lines of a CSV file, those above its header',
  }),
});

/** Of every command that asks an API. */
export const API_OPTIONS = under('The API', {
  baseUrl: option(kinds.baseUrl(), {
    env: 'BRANDFILL_BASE_URL',
    help: 'base URL of the API; calls go to {base_url}/v1/brand?domain=…, and a path in it is kept',
  }),
  api: option(kinds.profile(), {
    env: 'BRANDFILL_API',
    help: 'profile of the API, by its name (see brandfill api list) or as a YAML or JSON file: how the API is asked and what its answers mean; of several, with commas between, the next is asked about what the one before does not know (default: the standard, GET {base_url}/v1/brand?domain=…)',
  }),
  auth: option(kinds.auth(), {
    env: 'BRANDFILL_AUTH',
    default: 'none',
    help: 'how to authenticate: none, bearer, basic, header:NAME or query:NAME; the credential is read from BRANDFILL_API_KEY or --api-key-file',
  }),
  apiKeyFile: option(kinds.file(), {
    help: 'file that holds the credential and nothing else',
  }),
  params: option(kinds.params(), {
    flag: '--param',
    help: 'extra query parameter for every call',
  }),
  headers: option(kinds.headers(), {
    flag: '--header',
    help: 'extra header for every call; not for credentials',
  }),
});

/** Of every process that makes calls for lists. */
export const CALL_OPTIONS = {
  ...API_OPTIONS,
  ...under('Calls and what they cost', {
    rate: option(kinds.rate(), {
      default: 'auto',
      help: 'rate of calls to keep to, shared by all workers on a queue; auto finds the fastest rate that the API allows',
    }),
    concurrency: option(kinds.integer(1, 10_000), {
      default: '256',
      help: 'maximum number of calls in flight at the same time',
    }),
    maxCallsPer: option(kinds.callsPer(), {
      help: 'stop after N calls in a calendar min, hour, day or month, such as 1000/day (in UTC) or "1000/day Europe/Berlin"; the calls of all runs with this credential count together, throttled ones do not',
    }),
    retries: option(kinds.integer(0, 100), {
      default: '5',
      help: 'how many times to retry a lookup after a server error or a broken connection',
    }),
    timeout: option(kinds.duration(1), {
      default: '60s',
      help: 'time limit for a single call',
    }),
    maxWait: option(kinds.duration(), {
      default: '15min',
      help: 'longest wait that the API may ask for; if it asks for more, the run stops. Of a domain that has no answer ready (202) it is asked as long, and ten minutes at most',
    }),
    maxOutage: option(kinds.duration(), {
      default: '1h',
      help: 'how long to wait during an outage of the API before the run stops',
    }),
  }),
};

export const STORE_OPTIONS = under('Answers that are kept', {
  store: option(kinds.file('DIR'), {
    env: 'BRANDFILL_STORE',
    default: '.brandfill',
    help: 'folder that keeps answers between runs',
  }),
});

/** All options of `enrich` that job files and the library have too, in the order of the help. */
export const OPTIONS = {
  ...under('Files', {
    out: option(kinds.file(), {
      help: 'write the enriched rows to this file; - is standard output (default: <input>.enriched.<ext>)',
    }),
    failures: option(kinds.namedFile(), {
      help: 'write the rows that were not enriched to this file (default: <input>.failures.<ext>, beside the output; .csv for a workbook)',
    }),
    changes: option(kinds.namedFile(), {
      help: 'write the rows that are new, or whose enriched values have changed since the last run, to this file',
    }),
    key: option(kinds.text('COLUMN'), {
      help: 'with --changes: column that identifies a row from run to run (default: the domain)',
    }),
    report: option(kinds.reports(), {
      help: 'write a report of the run to this file: a self-contained page (.html), or its data (.json)',
    }),
    formulas: option(kinds.oneOf('guard', 'keep'), {
      help: "text of the API that a spreadsheet would calculate: guard puts a ' before it in CSV, keep leaves it (default: guard)",
    }),
  }),

  ...LIST_OPTIONS,
  ...under('The list', {
    where: option(kinds.where(), {
      help: 'look up only rows whose cell in a column has one of these values, such as brand_status=not_found,failed; all others pass as they are',
    }),
  }),

  ...API_OPTIONS,

  ...under('Columns', {
    fields: option(kinds.fields(), {
      help: 'output columns, as JMESPath expressions on the answer; standard are those that every profile has alike, such as name and city (default: those of the profile, else the answer, flattened)',
    }),
    fill: option(kinds.fills(), {
      help: "fill blank cells in one of the list's own columns with the value of a JMESPath expression",
    }),
    prefix: option(kinds.anyText(), {
      default: 'brand_',
      help: 'prefix of the names of all added columns',
    }),
    logos: option(kinds.file('DIR'), {
      help: 'save the logo of each domain in this folder; needs --logo-field',
    }),
    logoField: option(kinds.logoField(), {
      help: "with --logos: JMESPath expression for the logo's URL in the answer, such as logos[0].url",
    }),
    logosSvg: option(kinds.flag(), {
      help: 'with --logos: save SVG too, which may hold scripts; as it came',
    }),
  }),

  ...CALL_OPTIONS,
  ...under('Calls and what they cost', {
    sample: option(kinds.integer(1, 1_000), {
      help: 'look up only N domains, spread over the list, write their rows to <input>.sample.<ext>, and say what all would find, take and cost; the same command without it asks about the others',
    }),
    maxCalls: option(kinds.integer(1), {
      help: 'stop after N calls (throttled ones do not count); the remaining rows are skipped, and the next run takes them up',
    }),
    price: option(kinds.price(), {
      help: 'cost of a call, such as 0.01 or "0.01 EUR", or of a unit where the profile of the API says what it bills; the plan and the summary then show the total',
    }),
    yes: option(kinds.flag(), { help: 'do not ask for confirmation' }),
    maxCost: option(kinds.units(), {
      help: 'stop before the API bills more than this, in the units of its profile, such as credits; the remaining rows are skipped, and the next run takes them up',
    }),
    maxFailed: option(kinds.share(), {
      default: '20%',
      help: 'stop when more than this share of lookups fails, out of at least 200; those that failed in the previous run do not count',
    }),
  }),

  ...STORE_OPTIONS,
  ...under('Answers that are kept', {
    fresh: option(kinds.anyDuration(), {
      default: '30d',
      help: 'how long an answer stays fresh; after that, the domain is looked up again',
    }),
    freshNotFound: option(kinds.anyDuration(), {
      default: '7d',
      help: 'the same for domains that were not found, or that the API refused',
    }),
    refresh: option(kinds.flag(), {
      help: 'look up every domain again, however fresh its answer is',
    }),
    noWait: option(kinds.flag(), {
      help: 'end with exit code 2 when another run has the store, instead of waiting for it',
    }),
  }),

  ...under('Workers on a queue', {
    queue: option(kinds.redisUrl(), {
      env: 'BRANDFILL_QUEUE',
      help: 'Redis that carries lookups to workers, such as redis://localhost:6379/0 (default: none; this process makes all lookups)',
    }),
    workers: option(kinds.integer(0, 1), {
      default: '1',
      placeholder: '0 or 1',
      help: 'with --queue: 1 makes lookups in this process too, 0 leaves them all to other workers (brandfill worker)',
    }),
  }),

  ...under('Page and metrics', {
    listen: option(kinds.listen(), {
      help: 'serve a dashboard, /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
    }),
  }),
};

/** What `--help` shows; `--help all` has the rest. */
export const FIRST: ReadonlySet<string> = new Set(
  `out failures changes report domainColumn where baseUrl api auth fields rate sample maxCalls
  price yes fresh refresh store queue dryRun json`.split(/\s+/),
);

/** What can be said of each of several APIs that a run asks in turn. */
export const SOURCE = {
  ...API_OPTIONS,
  ...pick(OPTIONS, 'rate', 'maxCalls', 'maxCost', 'maxCallsPer', 'price'),
  apiKeyEnv: option(kinds.variableName, {
    help: 'name of the environment variable that holds the credential',
  }),
  next: option(kinds.next(), {
    default: 'not_found,rejected,failed',
    help: 'after which outcomes of this API the next one is asked: not_found, rejected, failed',
  }),
};

export type OptionKey = keyof typeof OPTIONS;

/** All settings of a run, read and checked. Durations are in milliseconds. */
export interface Settings extends SettingsOf<typeof OPTIONS> {}

export type ApiSettings = SettingsOf<typeof API_OPTIONS>;
export type CallSettings = SettingsOf<typeof CALL_OPTIONS>;

/** Of every command over a queue. */
export const QUEUE_OPTIONS = {
  queue: required(
    varied(OPTIONS.queue, { help: 'Redis of the queue, such as redis://localhost:6379/0' }),
  ),
};

/** Of every process that goes on until it is stopped, and has no page of its own. */
export const STATUS_OPTIONS = under('Page and metrics', {
  listen: varied(OPTIONS.listen, {
    help: 'serve /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  }),
  allowHost: option(kinds.hosts(), {
    help: 'name, or NAME:PORT, under which its pages may be asked for, besides localhost and addresses',
  }),
});
export type StatusSettings = Partial<SettingsOf<typeof STATUS_OPTIONS>>;

/** `baseUrl` as a flag of the command line: `--base-url`. */
export function flagOf(key: string): string {
  const { flag } = Object.hasOwn(OPTIONS, key) ? metaOf(OPTIONS[key as OptionKey]) : {};
  return flag ?? `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A message in the words of the command line, where the list or the domain is an argument. */
export function inFlags(message: string): string {
  return nameOptions(message, (key) =>
    key === 'input' || key === 'domain' ? `<${key}>` : flagOf(key),
  );
}
