import type { RunControl } from './common/run-control.ts';
import type { OptionKind } from './job/known-options.ts';
import type { SettingKey } from './job/settings.ts';
import type { Plan } from './producer/plan.ts';
import type { ListInput } from './rows/list-input.ts';
import type { RunEvent } from './watch/events.ts';

/** Options of a run. Durations are texts such as `'30d'`, or milliseconds. */
export interface EnrichOptions {
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  readonly input: ListInput;
  /**
   * The profile of the API: the name of one that is shipped, or the path of a YAML or JSON file.
   *
   * @default BRANDFILL_API, else the standard contract
   */
  readonly api?: string | undefined;
  /**
   * The API; calls go to `{baseUrl}/v1/brand?domain=…` unless a profile says otherwise.
   *
   * @default BRANDFILL_BASE_URL
   */
  readonly baseUrl?: string | undefined;
  /** `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`. @default BRANDFILL_AUTH, `none` */
  readonly auth?: string | undefined;
  /** The credential. @default BRANDFILL_API_KEY */
  readonly apiKey?: string | undefined;
  /** A file that holds only the credential. */
  readonly apiKeyFile?: string | undefined;
  /** Extra query parameters for every call. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  /** Extra headers for every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The file for the enriched rows. @default `<input>.enriched.<ext>` */
  readonly out?: string | undefined;
  /**
   * The file for rows not enriched.
   *
   * @default `<input>.failures.<ext>`, beside `out` for rows and standard input, or a sheet of a workbook
   */
  readonly failures?: string | undefined;
  /** The file for rows that are new, or whose enriched values differ from those of the last run. */
  readonly changes?: string | undefined;
  /** The name of the changes file from run to run, if its path has a date. @default its path */
  readonly changesId?: string | undefined;
  /** An earlier output, into which new finds are merged. The input is then its failures file. */
  readonly merge?: string | undefined;
  /** Files for reports of the run, each a page (`.html`) or data (`.json`). */
  readonly report?: string | readonly string[] | undefined;
  /** With `changes`: the column that identifies rows from run to run. @default the domain */
  readonly key?: string | undefined;
  /** Whether CSV outputs begin with a byte order mark, so that Excel reads UTF-8. @default false */
  readonly excel?: boolean | undefined;
  /** The sheet of a workbook with the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** The column with the domain, or its number in a CSV file, from 1. @default guessed */
  readonly domainColumn?: string | undefined;
  /** Whether to reduce each domain to its registrable part. @default false */
  readonly registrable?: boolean | undefined;
  /** Whether `jo@gmail.com` is looked up rather than `invalid`, `free_mail`. @default false */
  readonly keepFreeMail?: boolean | undefined;
  /** Whether `facebook.com/acme` is looked up rather than `invalid`, `shared_host`. @default false */
  readonly keepSharedHosts?: boolean | undefined;
  /** The encoding of the list, such as `'windows-1252'` or `'utf-16'`. @default detected */
  readonly encoding?: string | undefined;
  /** Whether a CSV file has no header. Its columns are then `column_1`, … @default false */
  readonly noHeader?: boolean | undefined;
  /** The number of lines above the header of a CSV file, which are skipped. @default 0 */
  readonly skipLines?: number | undefined;
  /** Output columns as JMESPath into the answer, by name. @default the answer, flattened */
  readonly fields?: string | Readonly<Record<string, string>> | undefined;
  /** Without `fields`: the most flattened columns; further values go into `json`. @default 40 */
  readonly maxColumns?: number | undefined;
  /** Values for blank cells of the list's own columns: JMESPath expressions by column. */
  readonly fill?: readonly string[] | Readonly<Record<string, string>> | undefined;
  /** The prefix of the names of all added columns. @default `brand_` */
  readonly prefix?: string | undefined;
  /** The folder for the logo of each domain; needs `logoField`. @default no logos are fetched */
  readonly logos?: string | undefined;
  /** The URL of a logo in an answer, as JMESPath, such as `logos[0].url`. */
  readonly logoField?: string | undefined;
  /** The largest picture that is saved, at most 50MB. @default 1MB */
  readonly logoMaxSize?: string | number | undefined;
  /** How many pictures are fetched at once, half of them from one host. @default 4 */
  readonly logoConcurrency?: number | undefined;
  /** Hosts, or `HOST:PORT`, that may be in a private network. @default all must be public */
  readonly logoAllow?: readonly string[] | undefined;
  /** The most calls in flight at the same time. @default 32 */
  readonly concurrency?: number | undefined;
  /** `'20/s'`, `'300/min'` or `'auto'`. @default `auto` */
  readonly rate?: string | undefined;
  /** How often a lookup is retried. @default 5 */
  readonly retries?: number | undefined;
  /** The longest that one call may take. @default 60s */
  readonly timeout?: string | number | undefined;
  /** The longest wait that the API may ask for before the run stops. @default 15min */
  readonly maxWait?: string | number | undefined;
  /** How long to wait for the end of an API outage before the run stops. @default 1h */
  readonly maxOutage?: string | number | undefined;
  /** How long to ask again about a domain that the API has accepted and has no answer ready for (202). @default 10min */
  readonly maxPending?: string | number | undefined;
  /** Stop after this many calls. Rows left over are `skipped`. */
  readonly maxCalls?: number | undefined;
  /** Stop after this many calls of all runs with this credential, such as `'1000/day'`, in UTC. */
  readonly maxCallsPer?: string | undefined;
  /** Stop before the API bills more than this, in the units of its profile; needs `api`. */
  readonly maxCost?: number | string | undefined;
  /** Stop when more than this share of at least 200 lookups fails. @default 20% */
  readonly maxFailed?: string | number | undefined;
  /** The price of a call, or of a unit that the profile bills in, for plan and summary: `0.01`. */
  readonly price?: number | string | undefined;
  /** The number of calls above which `confirm` is asked. @default 0; 10000 with a job file */
  readonly confirmAbove?: number | undefined;
  /** Whether to skip `confirm`. @default false */
  readonly yes?: boolean | undefined;
  /** Asked before the first call. False ends it with an `AbortError`. @default no question */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** How long an answer stays fresh. @default 30d */
  readonly fresh?: string | number | undefined;
  /** The same for domains that were not found. @default 7d */
  readonly freshNotFound?: string | number | undefined;
  /** The same for domains that the API refused. @default 7d */
  readonly freshRejected?: string | number | undefined;
  /** The share by which each of these durations may be shortened at random. @default 20% */
  readonly freshJitter?: string | number | undefined;
  /**
   * How old an answer may be that a row keeps, as `stale`, when its domain could not be looked up; 0
   * for none. @default any age
   */
  readonly maxStale?: string | number | undefined;
  /** Whether to ask about every domain again, however fresh its answer is. @default false */
  readonly refresh?: boolean | undefined;
  /** Whether to ask only about domains that were never found. @default false */
  readonly onlyMissing?: boolean | undefined;
  /** The folder where answers are kept between runs. @default BRANDFILL_STORE, else `.brandfill` */
  readonly store?: string | undefined;
  /** The Redis that carries lookups to workers. @default BRANDFILL_QUEUE, else this process only */
  readonly queue?: string | undefined;
  /** With a queue: 1 to make lookups here too, 0 to leave them to other workers. @default 1 */
  readonly workers?: 0 | 1 | undefined;
  /** With a queue: the number of lookups in a chunk, fewer for a short list. @default 50 */
  readonly chunk?: number | undefined;
  /** With a queue: the most chunks under way. @default enough for `concurrency`, at least 64 */
  readonly window?: number | undefined;
  /** With a queue: how long a worker may be silent before others get its lookups. @default 15s */
  readonly lostAfter?: string | number | undefined;
  /** Whether to accept a Redis that may evict lookups when its memory is full. @default false */
  readonly acceptEviction?: boolean | undefined;
  /**
   * Serves a dashboard, `/metrics`, `/livez` and `/readyz` during the run: a port, or
   * `'HOST:PORT'`.
   *
   * @default no server
   */
  readonly listen?: string | number | undefined;
  /**
   * Names under which `/metrics`, `/readyz` and a dashboard without a token may be asked for,
   * besides `localhost` and addresses. @default none
   */
  readonly allowHost?: readonly string[] | undefined;
  /** The token that viewers need, if others can reach it. @default BRANDFILL_DASHBOARD_TOKEN */
  readonly token?: string | undefined;
  /** A file that holds only the token. */
  readonly tokenFile?: string | undefined;
  /** Addresses of proxies that say in `X-Forwarded-For` who asks for the dashboard. @default none */
  readonly trustedProxy?: readonly string[] | undefined;
  /**
   * Stops the run in order: no new call starts, calls under way get ten seconds, and all rows are
   * written, those not asked as `skipped`. Before the first call it ends the run with the signal's
   * reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** The id of the run in logs and in its summary. @default random */
  readonly runId?: string | undefined;
  /** Called as the run goes on. If it throws, the run stops and rejects with that error. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Pauses, resumes and stops the run; made by `createRunControl`. @default no control */
  readonly control?: RunControl | undefined;
}

/** Options of `enrich` that are not settings of a job. */
export const BESIDE_SETTINGS: Readonly<
  Record<Exclude<keyof EnrichOptions, SettingKey>, OptionKind>
> = {
  input: 'checkedElsewhere',
  apiKey: 'text',
  params: 'checkedElsewhere',
  headers: 'checkedElsewhere',
  changesId: 'text',
  confirm: 'function',
  signal: 'signal',
  runId: 'text',
  onEvent: 'function',
  control: 'control',
  token: 'text',
};
