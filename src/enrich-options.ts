import type { RunControl } from './common/run-control.ts';
import type { OptionKind } from './job/option-kinds.ts';
import type { SettingKey } from './job/settings.ts';
import type { Plan } from './producer/plan.ts';
import type { ListInput } from './rows/list-input.ts';
import type { RunEvent } from './watch/events.ts';

/** What to enrich and how. Durations are texts such as `'30d'`, or milliseconds. */
export interface EnrichOptions {
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  readonly input: ListInput;
  /** The API; calls go to `{baseUrl}/v1/brand?domain=…`. @default BRANDFILL_BASE_URL */
  readonly baseUrl?: string | undefined;
  /** `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`. @default BRANDFILL_AUTH, else `none` */
  readonly auth?: string | undefined;
  /** The credential. @default BRANDFILL_API_KEY */
  readonly apiKey?: string | undefined;
  /** A file that holds the credential and nothing else. */
  readonly apiKeyFile?: string | undefined;
  /** Extra query parameters for every call. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  /** Extra headers for every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where the enriched rows go. @default `<input>.enriched.<ext>` */
  readonly out?: string | undefined;
  /** Where the rows go that were not enriched. @default `<input>.failures.<ext>`, a sheet of a workbook */
  readonly failures?: string | undefined;
  /** Where the rows go that are new, or whose enriched values differ from those of the last run. */
  readonly changes?: string | undefined;
  /** What the changes file is called from run to run, where its path has the date in it. @default its path */
  readonly changesId?: string | undefined;
  /** An earlier output: the input is its failures file, and what is found now gets in its places. */
  readonly merge?: string | undefined;
  /** Where reports of the run go, each a page (`.html`) or data (`.json`). */
  readonly report?: string | readonly string[] | undefined;
  /** With `changes`: the column that tells rows apart from run to run. @default their domains */
  readonly key?: string | undefined;
  /** Begin CSV outputs with a byte order mark, so that Excel reads them as UTF-8. @default false */
  readonly excel?: boolean | undefined;
  /** Of a workbook, the sheet that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** The column that holds the domain, or its place in a CSV file, from 1. @default guessed by name and content */
  readonly domainColumn?: string | undefined;
  /** Reduce each domain to its registrable part. @default false */
  readonly registrable?: boolean | undefined;
  /** Look `jo@gmail.com` up as `gmail.com`; else such rows are `invalid`, `free_mail`. @default false */
  readonly keepFreeMail?: boolean | undefined;
  /** The encoding of the list, such as `'windows-1252'` or `'utf-16'`. @default found out */
  readonly encoding?: string | undefined;
  /** The first line of a CSV file is a row; its columns are called `column_1`, … @default false */
  readonly noHeader?: boolean | undefined;
  /** How many lines of a CSV file stand above its header and are left out. @default 0 */
  readonly skipLines?: number | undefined;
  /** Output columns as JMESPath into the answer, by name. @default the answer, flattened */
  readonly fields?: string | Readonly<Record<string, string>> | undefined;
  /** Without `fields`: the most columns of the flattened answer; what is beyond is in one, `json`. @default 40 */
  readonly maxColumns?: number | undefined;
  /** What goes into columns of the list's own where they are blank, as JMESPath, by column. */
  readonly fill?: readonly string[] | Readonly<Record<string, string>> | undefined;
  /** What the names of all added columns begin with. @default `brand_` */
  readonly prefix?: string | undefined;
  /** Folder in which the logo of each domain is saved; needs `logoField`. @default none is fetched */
  readonly logos?: string | undefined;
  /** Where the URL of a logo is in an answer, as JMESPath, such as `logos[0].url`. */
  readonly logoField?: string | undefined;
  /** The largest picture that is saved, at most 50MB. @default 1MB */
  readonly logoMaxSize?: string | number | undefined;
  /** Pictures that are fetched at the same time, half of them from one host. @default 4 */
  readonly logoConcurrency?: number | undefined;
  /** Hosts, or `HOST:PORT`, that may be in a private network. @default all must have a public address */
  readonly logoAllow?: readonly string[] | undefined;
  /** Calls in flight at the same time. @default 32 */
  readonly concurrency?: number | undefined;
  /** `'20/s'`, `'300/min'` or `'auto'`. @default `auto` */
  readonly rate?: string | undefined;
  /** How often a lookup is tried again. @default 5 */
  readonly retries?: number | undefined;
  /** The longest that one call may take. @default 60s */
  readonly timeout?: string | number | undefined;
  /** The longest wait that the API may ask for; told to wait longer, the run stops. @default 15min */
  readonly maxWait?: string | number | undefined;
  /** How long an outage of the API is waited for before the run stops. @default 1h */
  readonly maxOutage?: string | number | undefined;
  /** Stop after this many calls; rows left over are `skipped`. */
  readonly maxCalls?: number | undefined;
  /** Stop after so many calls of all runs with this credential, such as `'1000/day'`, in UTC. */
  readonly maxCallsPer?: string | undefined;
  /** Stop when more than this share of the lookups fails, of 200 at least. @default 20% */
  readonly maxFailed?: string | number | undefined;
  /** What a call costs, for plan and summary: `0.01`. */
  readonly price?: number | string | undefined;
  /** Calls above which `confirm` is asked. @default 0; 10000 where a job file is loaded */
  readonly confirmAbove?: number | undefined;
  /** Do not ask. @default false */
  readonly yes?: boolean | undefined;
  /** Asked before the first call; false ends it with an `AbortError`. @default nobody */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** How long an answer counts. @default 30d */
  readonly fresh?: string | number | undefined;
  /** The same for domains that were not found. @default 7d */
  readonly freshNotFound?: string | number | undefined;
  /** The same for domains that the API refused. @default 7d */
  readonly freshRejected?: string | number | undefined;
  /** By how much less of these durations an answer may count, each by chance. @default 20% */
  readonly freshJitter?: string | number | undefined;
  /** Ask about every domain again, however fresh its answer is. @default false */
  readonly refresh?: boolean | undefined;
  /** Ask only about domains that were never found. @default false */
  readonly onlyMissing?: boolean | undefined;
  /** Folder where answers are kept between runs. @default BRANDFILL_STORE, else `.brandfill` */
  readonly store?: string | undefined;
  /** The Redis that carries lookups to workers. @default BRANDFILL_QUEUE, else all in this process */
  readonly queue?: string | undefined;
  /** With a queue: 1 to make lookups here too, 0 to leave them to other workers. @default 1 */
  readonly workers?: 0 | 1 | undefined;
  /** With a queue: how many lookups travel together, fewer for a short list. @default 50 */
  readonly chunk?: number | undefined;
  /** With a queue: how many chunks may be on their way. @default enough for `concurrency`, at least 64 */
  readonly window?: number | undefined;
  /** With a queue: how long a worker may be silent before its lookups are given to others. @default 15s */
  readonly lostAfter?: string | number | undefined;
  /** Use a Redis that may throw lookups away when its memory is full. @default false */
  readonly acceptEviction?: boolean | undefined;
  /**
   * Serves a dashboard, `/metrics`, `/livez` and `/readyz` while it runs: a port, or `'HOST:PORT'`.
   *
   * @default no server
   */
  readonly listen?: string | number | undefined;
  /** What the dashboard asks for; needed where others can reach it. @default BRANDFILL_DASHBOARD_TOKEN */
  readonly token?: string | undefined;
  /** A file that holds the token and nothing else. */
  readonly tokenFile?: string | undefined;
  /**
   * Stops the run in order: no new call starts, those under way get ten seconds, all rows come out,
   * those not asked as `skipped`. Before the first call it ends the run with the signal's reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** What the run is called in logs and in its summary. @default made by chance */
  readonly runId?: string | undefined;
  /** Called as the run goes on. What it throws stops the run, which then rejects with it. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Pauses, resumes and stops the run, made by `createRunControl`. @default nobody does */
  readonly control?: RunControl | undefined;
}

/** Options of `enrich` that are no settings of a job. */
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
