import { z } from 'zod';

const count = (what: string) => z.int().nonnegative().describe(what);
const amount = (what: string) => z.number().nonnegative().describe(what);
const text = (what: string) => z.string().describe(what);
const orNull = <T extends z.ZodType>(schema: T, what: string) => schema.nullable().describe(what);

const statusCounts = z.strictObject({
  found: count('Enriched.'),
  stale: count('Not learned this time; the row has the values of an older answer.'),
  not_found: count('The API does not know the domain.'),
  rejected: count('The API refused the domain.'),
  failed: count('No usable answer, even after retries.'),
  pending: count('Accepted by the API, but no answer was ready in time.'),
  invalid: count('The row holds no domain, so nothing was looked up.'),
  skipped: count('Not looked up: the run stopped first.'),
});

const STATUSES = [
  'found',
  'stale',
  'not_found',
  'rejected',
  'failed',
  'pending',
  'invalid',
  'skipped',
] as const;

const run = z.strictObject({
  id: text('Id of the run, as in logs and in the summary.'),
  input: text('The list, as given.'),
  format: text('Format of the list, such as `CSV, semicolon-separated`; empty when unknown.'),
  domainColumn: orNull(z.string(), 'The column that the domains are taken from.'),
  startedAt: z.iso.datetime().describe('Start time, in ISO 8601, UTC.'),
  finishedAt: z.iso
    .datetime()
    .describe('End time, in ISO 8601, UTC; excludes the time that the report took.'),
  elapsedMs: amount('Time from start to finish, in milliseconds.'),
  lookupMs: amount('Time during which lookups were made, in milliseconds.'),
  end: z
    .enum(['done', 'some_failed', 'nothing_found', 'stopped', 'interrupted', 'error'])
    .describe('How the run ended.'),
  exitCode: count('Exit code of `brandfill`.'),
  headline: text('How the run went, in one sentence.'),
  next: text('What to do next; empty when there is nothing to do.'),
  stopReason: orNull(z.string(), 'Why the run stopped early, as `stopped.reason` in the summary.'),
  comeBackAt: orNull(
    z.iso.datetime(),
    'Earliest time at which it makes sense to run again, if known.',
  ),
  error: orNull(z.string(), 'Error message for people; only if `end` is `error`.'),
  notices: z.array(z.string()).max(20).describe('The first 20 notices of the run.'),
});

const rows = z.strictObject({
  total: count('Rows in the list; the header does not count.'),
  statuses: statusCounts.describe('Rows by status.'),
  areWritten: z.boolean().describe('Whether the outputs were written; if not, they are unchanged.'),
  ragged: count('Rows with more or fewer cells than the header.'),
  blankLines: count('Blank lines, which do not count as rows.'),
});

const domains = z.strictObject({
  unique: count('Different domains in the list.'),
  fresh: count('Domains that needed no call because the store had a fresh outcome.'),
  due: count('Domains that had to be looked up.'),
  lookedUp: count('Domains that were looked up.'),
});

const lookups = z.strictObject({
  found: count('Lookups with this outcome; counts domains, not rows, and only those of this run.'),
  not_found: count('The same.'),
  rejected: count('The same.'),
  failed: count('The same.'),
  pending: count('The same.'),
});

const calls = z.strictObject({
  total: count('HTTP requests made, including throttled ones.'),
  retries: count('Retries of lookups after a failure.'),
  throttled: count('Calls that the API refused for the moment (429 and the like).'),
  perSecond: amount('Calls per second while lookups were made.'),
  measured: count(
    'Finished calls that this process made for the run; latencies and answers cover only these. With a queue, other workers make calls too.',
  ),
  answers: z
    .array(
      z.strictObject({
        answer: text(
          'HTTP status, or why there was no answer, such as `timeout`; `invalid_response` is a 200 without a JSON object.',
        ),
        calls: count('Calls with this result.'),
      }),
    )
    .max(100)
    .describe('Results of calls, the most frequent first.'),
});

const latency = z.strictObject({
  meanMs: amount('Mean duration of the calls.'),
  p50Ms: amount('Half of the calls took no longer than this.'),
  p90Ms: amount('90 percent took no longer than this.'),
  p95Ms: amount('95 percent took no longer than this.'),
  p99Ms: amount('99 percent took no longer than this.'),
  maxMs: amount('The slowest call.'),
});

const span = z.strictObject({
  atMs: amount('Start of the span, in milliseconds since the lookups began.'),
  callsPerSecond: amount('Calls started.'),
  lookupsPerSecond: amount('Lookups finished.'),
  throttledPerSecond: amount('Calls that the API refused for the moment (429 and the like).'),
  retriesPerSecond: amount('Retries of lookups.'),
  limitPerSecond: orNull(z.number(), 'Rate limit as known at the time; null while unknown.'),
  p50Ms: orNull(
    z.number(),
    'Half of the answers took no longer than this; null if there were none.',
  ),
  p95Ms: orNull(z.number(), 'The same for 95 percent.'),
  p99Ms: orNull(z.number(), 'The same for 99 percent.'),
  toldMs: amount('How long no call could start because the API had said how long to wait.'),
  backingOffMs: amount('The same, because the API had throttled calls without naming a time.'),
  outageMs: amount('The same, because of an outage of the API.'),
  pausedMs: amount(
    'The same, because somebody had paused the run; this time counts as nothing else.',
  ),
});

const timeline = z.strictObject({
  spanMs: amount(
    'How long each span is; the last one may be shorter. Longer runs have longer spans.',
  ),
  spans: z.array(span).max(120).describe('The spans in order, from the first call on.'),
});

const pace = z.strictObject({
  limitIs: z
    .enum(['fixed', 'published', 'learned', 'unknown'])
    .describe(
      'Source of the limit: `--rate`, published by the API, learned by trying, or never met.',
    ),
  limitPerSecond: orNull(z.number(), 'The limit, in calls per second.'),
  mostAtOnce: orNull(z.int(), 'Maximum number of calls at the same time, if the API limits them.'),
  throttledShare: amount('Share of the calls that were throttled, from 0 to 1.'),
  waitedMs: z
    .strictObject({
      told: amount('Because the API had said how long to wait.'),
      backingOff: amount('Because the API had throttled calls without naming a time.'),
      outage: amount('Because of an outage of the API.'),
      retryBudget: amount(
        'At least one retry could not start, because the number of retries is limited in proportion to calls.',
      ),
    })
    .describe('How long this process was kept waiting, in milliseconds.'),
});

const cost = z.strictObject({
  perCall: amount('Cost of a call as set by `--price`, in any currency.'),
  calls: count('Calls that cost something: all but throttled ones.'),
  total: amount('Total cost of these calls.'),
  planned: orNull(
    z.number(),
    'Cost according to the plan, which assumes that no call has to be made twice.',
  ),
});

const bill = z.strictObject({
  units: amount('What the API billed for the answers of this run.'),
  unit: text('What it bills in, such as `credits`.'),
  most: orNull(z.number(), 'The most that the plan allowed for, if no call has to be made twice.'),
  price: orNull(z.number(), 'Price of a unit as set by `--price`, in any currency.'),
  total: orNull(z.number(), 'What the units cost at that price.'),
});

const api = z.strictObject({
  name: text('Name of the API, as in the column `brand_api`.'),
  found: count('Rows that were found there, in this run or before.'),
  lookups: count('Domains that it was asked about.'),
  calls: count('HTTP requests made to it, including throttled ones.'),
  throttled: count('Calls that it throttled.'),
  bill: orNull(bill, 'What it billed; null where its profile does not say what it bills.'),
  cost: orNull(z.number(), 'What that costs, with `--price` or `--then-price`.'),
  stopReason: orNull(z.string(), 'Why it was asked no more, as in the summary.'),
});

const reason = z.strictObject({
  status: z.enum(STATUSES).describe('The status of the rows.'),
  reason: text(
    'Reason as in the failures file; parts that differ from row to row are replaced by `{domain}` or `…`.',
  ),
  httpStatus: orNull(z.int(), 'The HTTP status of the last answer.'),
  rows: count('Rows with this reason.'),
  advice: text('What the reason means, and what to do about it.'),
  examples: z
    .array(
      z.strictObject({
        row: count('Number of the row, from 1.'),
        domain: text('Domain of the row; empty for `invalid`.'),
        cell: text('Content of the domain column, shortened.'),
        text: text('Beginning of the row, as it is in the list.'),
      }),
    )
    .max(5)
    .describe('The first rows with this reason.'),
});

const slowCall = z.strictObject({
  domain: text('The domain.'),
  latencyMs: amount('Duration of its slowest call, in milliseconds.'),
  answer: text('HTTP status of that call, or why there was no answer.'),
});

const retried = z.strictObject({
  domain: text('The domain.'),
  attempts: count('Calls made for the domain, not counting throttled ones.'),
  status: z.enum(STATUSES).describe('Status of the domain.'),
  reason: text('Why the status is not `found`; empty if it is.'),
  row: count('The first row with this domain.'),
});

const file = orNull(z.string(), 'A path, or `-` for standard output; null if there is none.');

const files = z.strictObject({
  out: file,
  failures: file,
  failuresSheet: orNull(
    z.string(),
    'Sheet of `out` that holds the failures, if that is a workbook.',
  ),
  changes: orNull(
    z.strictObject({
      file: text('A path.'),
      new: count('Rows that were not in the last run.'),
      changed: count('Rows whose values have changed.'),
    }),
    'Rows written to the changes file; null without `--changes`.',
  ),
  logos: orNull(
    z.strictObject({
      folder: text('A path.'),
      saved: count('Pictures fetched in this run.'),
      kept: count('Pictures that were there already.'),
      missing: count('Pictures that could not be fetched.'),
    }),
    'Pictures that answers point to; null without `--logos`.',
  ),
  store: text('Folder of the store.'),
  storeBytes: orNull(z.int(), 'Size of the store on disk, in bytes.'),
});

const setting = z.strictObject({
  name: text('Name as on the command line.'),
  value: text('Value, for people. Only the names of parameters and headers.'),
  isDefault: z.boolean().describe('Whether this is the default.'),
});

/** The schema of a report's data; docs/report.schema.json and docs/report.md are made of it. */
export const runReportSchema = z
  .strictObject({
    version: z
      .literal(1)
      .describe('Version of this format. New members may be added without a new version.'),
    brandfill: text('Version of Brandfill.'),
    run: run.describe('The run, and how it ended.'),
    rows: rows.describe('Rows of the list.'),
    domains: domains.describe('Domains in the list.'),
    lookups: lookups.describe('Lookups of this run, by outcome.'),
    calls: calls.describe('HTTP requests.'),
    latency: orNull(latency, 'Latency of calls, in milliseconds; null if none was measured.'),
    timeline: timeline.describe('The run over time; rates are per second, durations in ms.'),
    pace: orNull(pace, 'How fast calls could be made; null if this process made none.'),
    cost: orNull(cost, 'What the calls cost; null without `--price`, and where `bill` says it.'),
    bill: orNull(bill, 'What the API billed; null where no profile of the API says what it bills.'),
    apis: z
      .array(api)
      .max(2)
      .describe('What each API was asked, with `--then`; `cost` and `bill` are then only here.'),
    reasons: z
      .array(reason)
      .max(40)
      .describe('Reasons why rows were not enriched, most frequent first.'),
    otherReasonRows: count('Rows whose reason is not among `reasons`.'),
    columns: z
      .array(
        z.strictObject({
          name: text('Name of the column in the output.'),
          rows: count('Rows in which the column has a value.'),
        }),
      )
      .max(500)
      .describe('Columns added with data from the answers, in order; at most 500.'),
    filled: z
      .array(
        z.strictObject({
          name: text("Name of the list's own column."),
          rows: count('Rows in which the column was blank and was filled.'),
        }),
      )
      .describe('Columns filled by `--fill`.'),
    slowest: z.array(slowCall).max(20).describe('The domains with the slowest calls.'),
    mostRetried: z.array(retried).max(20).describe('The domains with the most retries.'),
    files: files.describe('Paths of the files of the run.'),
    settings: z.array(setting).describe('Settings of the run, without secrets.'),
  })
  .describe('What a run of Brandfill did.');

/**
 * The data of a report, as `--report run.json` writes it. Each member with its unit is in
 * docs/report.md. Its size is bounded.
 */
export interface RunReport extends DeepReadonly<z.infer<typeof runReportSchema>> {}

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;
