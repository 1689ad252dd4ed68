import { z } from 'zod';
import type { RunReport } from './run-report.ts';

const count = (what: string) => z.int().nonnegative().describe(what);
const amount = (what: string) => z.number().nonnegative().describe(what);
const text = (what: string) => z.string().describe(what);
const orNull = <T extends z.ZodType>(schema: T, what: string) => schema.nullable().describe(what);

const statusCounts = z.strictObject({
  found: count('Enriched.'),
  not_found: count('The API does not know the domain.'),
  rejected: count('The API refused the domain.'),
  failed: count('No usable answer, however often it was tried.'),
  invalid: count('There is no domain in the row; nothing was asked.'),
  skipped: count('Not asked: the run stopped first.'),
});

const STATUSES = ['found', 'not_found', 'rejected', 'failed', 'invalid', 'skipped'] as const;

const run = z.strictObject({
  id: text('What the run is called in logs and in the summary.'),
  input: text('The list, as it was given.'),
  format: text('What the list is, such as `CSV, semicolon-separated`; empty when unknown.'),
  domainColumn: orNull(z.string(), 'The column that the domains are taken from.'),
  startedAt: z.iso.datetime().describe('In ISO 8601, UTC.'),
  finishedAt: z.iso.datetime().describe('In ISO 8601, UTC; without the time that the report took.'),
  elapsedMs: amount('From start to finish, in milliseconds.'),
  lookupMs: amount('While lookups were made, in milliseconds.'),
  end: z
    .enum(['done', 'some_failed', 'stopped', 'interrupted', 'error'])
    .describe('How the run ended.'),
  exitCode: count('What `brandfill` ended with.'),
  headline: text('How it went, in a sentence.'),
  next: text('What to do about it; empty when there is nothing to do.'),
  stopReason: orNull(z.string(), 'Why it stopped early, as `stopped.reason` in the summary.'),
  comeBackAt: orNull(z.iso.datetime(), 'When it makes sense to come back, if the API said.'),
  error: orNull(z.string(), 'What went wrong, for people; only for `error`.'),
  notices: z.array(z.string()).max(20).describe('What the run had to remark; the first 20.'),
});

const rows = z.strictObject({
  total: count('Rows in the list; the header does not count.'),
  statuses: statusCounts.describe('Rows by how they ended.'),
  areWritten: z.boolean().describe('Whether the outputs were written; if not they are as before.'),
  ragged: count('Rows with more or fewer cells than the header.'),
  blankLines: count('Empty lines, which are no rows.'),
});

const domains = z.strictObject({
  unique: count('Different domains in the list.'),
  fresh: count('Those that needed no call, because the store had a fresh outcome.'),
  due: count('Those that had to be looked up.'),
  lookedUp: count('Those that were.'),
});

const lookups = z.strictObject({
  found: count('Lookups that ended so; domains, not rows, and only those of this run.'),
  not_found: count('The same.'),
  rejected: count('The same.'),
  failed: count('The same.'),
});

const calls = z.strictObject({
  total: count('HTTP requests made, those answered 429 included.'),
  retries: count('Times a lookup was tried again after a failure.'),
  throttled: count('Calls that were answered 429.'),
  perSecond: amount('Calls per second while lookups were made.'),
  measured: count(
    'Calls that this process made for the run, and that ended: those that latencies and answers are of. With a queue, workers elsewhere make others.',
  ),
  answers: z
    .array(
      z.strictObject({
        answer: text(
          'HTTP status, or why there was no answer, such as `timeout`, or `invalid_response` for 200 without a JSON object.',
        ),
        calls: count('Calls that came to it.'),
      }),
    )
    .max(100)
    .describe('What calls came to, the most frequent first.'),
});

const latency = z.strictObject({
  meanMs: amount('The average.'),
  p50Ms: amount('What half of the calls took at most.'),
  p90Ms: amount('What 90 percent took at most.'),
  p95Ms: amount('What 95 percent took at most.'),
  p99Ms: amount('What 99 percent took at most.'),
  maxMs: amount('The slowest one.'),
});

const span = z.strictObject({
  atMs: amount('Where it begins, in milliseconds since the lookups began.'),
  callsPerSecond: amount('Calls that started.'),
  lookupsPerSecond: amount('Lookups that ended.'),
  throttledPerSecond: amount('Calls that were answered 429.'),
  retriesPerSecond: amount('Times a lookup was tried again.'),
  limitPerSecond: orNull(z.number(), 'The limit as it was known then; null while unknown.'),
  p50Ms: orNull(z.number(), 'Half of the answers that came took so long at most; null for none.'),
  p95Ms: orNull(z.number(), 'The same of 95 percent.'),
  p99Ms: orNull(z.number(), 'The same of 99 percent.'),
  toldMs: amount('How long no call could start because the API had named a time.'),
  backingOffMs: amount('The same because it had answered 429 and named none.'),
  outageMs: amount('The same because it was out.'),
  pausedMs: amount('The same because somebody had paused the run; it counts as nothing else.'),
});

const timeline = z.strictObject({
  spanMs: amount(
    'How long each span is; the last one may be shorter. Longer runs have longer spans.',
  ),
  spans: z.array(span).max(120).describe('What happened when, from the first call on.'),
});

const pace = z.strictObject({
  limitIs: z
    .enum(['fixed', 'published', 'learned', 'unknown'])
    .describe('Where the limit is from: `--rate`, the API, found out, or never met.'),
  limitPerSecond: orNull(z.number(), 'That limit, in calls per second.'),
  mostAtOnce: orNull(z.int(), 'Most calls at the same time, where the API limits those.'),
  throttledShare: amount('The share of the calls that were answered 429, from 0 to 1.'),
  waitedMs: z
    .strictObject({
      told: amount('Because the API had named a time.'),
      backingOff: amount('Because it had answered 429 and named none.'),
      outage: amount('Because it was out.'),
      retryBudget: amount('At least one retry could not start: only so many for so many calls.'),
    })
    .describe('For how long this process was kept waiting, in milliseconds.'),
});

const cost = z.strictObject({
  perCall: amount('What a call costs, as `--price` says, in whatever currency.'),
  calls: count('Calls that cost something: all but those answered 429.'),
  total: amount('What they cost.'),
  planned: orNull(z.number(), 'What the plan said, if no call has to be made twice.'),
});

const reason = z.strictObject({
  status: z.enum(STATUSES).describe('The status of the rows.'),
  reason: text('As in the failures file; what differs from row to row is `{domain}` or `…`.'),
  httpStatus: orNull(z.int(), 'The HTTP status of the last answer.'),
  rows: count('Rows that have it.'),
  advice: text('What it means and what to do about it, in words.'),
  examples: z
    .array(
      z.strictObject({
        row: count('Its place among the rows, from 1.'),
        domain: text('Its domain; empty for `invalid`.'),
        cell: text('What stands in the domain column, shortened.'),
        text: text('The beginning of the row, as it stands in the list.'),
      }),
    )
    .max(5)
    .describe('The first rows that have it.'),
});

const slowCall = z.strictObject({
  domain: text('The domain.'),
  latencyMs: amount('How long its slowest call took, in milliseconds.'),
  answer: text('HTTP status of that call, or why there was no answer.'),
});

const retried = z.strictObject({
  domain: text('The domain.'),
  attempts: count('Calls made for it, those answered 429 not counted.'),
  status: z.enum(STATUSES).describe('How it ended.'),
  reason: text('Why it is not `found`; empty when it is.'),
  row: count('The first row that has it.'),
});

const file = orNull(z.string(), 'A path, `-` for standard output; null when there is none.');

const files = z.strictObject({
  out: file,
  failures: file,
  failuresSheet: orNull(
    z.string(),
    'The sheet of `out` that failures are in, where that is a workbook.',
  ),
  changes: orNull(
    z.strictObject({
      file: text('A path.'),
      new: count('Rows that were not there before.'),
      changed: count('Rows with other values than before.'),
    }),
    'Rows that there is something to tell of; null without `--changes`.',
  ),
  logos: orNull(
    z.strictObject({
      folder: text('A path.'),
      saved: count('Fetched in this run.'),
      kept: count('Those that were there.'),
      missing: count('Those that could not be had.'),
    }),
    'Pictures that answers point to; null without `--logos`.',
  ),
  store: text('The folder where answers are kept.'),
  storeBytes: orNull(z.int(), 'How much room all of them take on the disk.'),
});

const setting = z.strictObject({
  name: text('As on the command line.'),
  value: text('For people. Of parameters and headers only the names.'),
  isDefault: z.boolean().describe('Whether it is what it would be if nothing was given.'),
});

/** The schema of a report's data; docs/report.schema.json and docs/report.md are made of it. */
export const runReportSchema: z.ZodType<RunReport> = z
  .strictObject({
    version: z
      .literal(1)
      .describe('Version of this format. Members may be added without a new one.'),
    brandfill: text('Version of Brandfill.'),
    run: run.describe('Which run it was, and how it ended.'),
    rows: rows.describe('Rows of the list.'),
    domains: domains.describe('Domains in the list.'),
    lookups: lookups.describe('What the lookups of this run came to.'),
    calls: calls.describe('HTTP requests.'),
    latency: orNull(latency, 'How long calls took, in milliseconds; null when none was measured.'),
    timeline: timeline.describe('The run over time; rates are per second, durations in ms.'),
    pace: orNull(pace, 'How fast calls could go; null when this process made none.'),
    cost: orNull(cost, 'What the calls cost; null without `--price`.'),
    reasons: z.array(reason).max(40).describe('Why rows were not enriched, most rows first.'),
    otherReasonRows: count('Rows whose reason is not among `reasons`.'),
    columns: z
      .array(
        z.strictObject({
          name: text('The name of the column in the output.'),
          rows: count('Rows in which it has a value.'),
        }),
      )
      .max(500)
      .describe('The columns with what was learned, in their order; at most 500.'),
    filled: z
      .array(
        z.strictObject({
          name: text("The name of the column of the list's own."),
          rows: count('Rows in which it was blank and was filled.'),
        }),
      )
      .describe('What `--fill` did.'),
    slowest: z.array(slowCall).max(20).describe('The domains with the slowest calls.'),
    mostRetried: z.array(retried).max(20).describe('The domains that were tried most often.'),
    files: files.describe('Where things are.'),
    settings: z.array(setting).describe('What the run was told, without secrets.'),
  })
  .describe('What a run of Brandfill did.');
