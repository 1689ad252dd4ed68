import type { CallsPer } from '../calls/budget.ts';
import type { Stall } from '../calls/lookup-queue.ts';
import type { OutcomeStatus } from '../calls/outcome.ts';
import type { RowStatus } from '../collector/joined-row.ts';
import type { Limit } from '../worker/pace-memory.ts';
import type { Stop } from '../worker/stop-switch.ts';

// The one picture of a run, as plain data: what the terminal draws, `--json` prints, the page and
// the dashboard show, metrics read and a report holds. `record-run.ts` makes it from events. Times
// are in milliseconds. The page loads this module, so that nothing of the server may be in it.

/** Of this format; members may be added without another. */
export const VIEW_VERSION = 9;

/** Rows by how they ended; `STATUSES` says what each means. */
export type StatusCounts = Record<RowStatus, number> & {
  /** Known before the run; counted as what they are once it ends. */
  fresh?: number;
};

/** Counts of zero for all statuses. */
export function createStatusCounts(): StatusCounts {
  const ofAnswers = { found: 0, stale: 0, not_found: 0, rejected: 0, failed: 0 };
  return { ...ofAnswers, pending: 0, invalid: 0, skipped: 0 };
}

/** The number of rows over all statuses. */
export function sumOf(statuses: Readonly<StatusCounts>): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}

/** What happened in a part of the run. */
export interface Span {
  /** Its start, since the lookups began. */
  atMs: number;
  callsPerSecond: number;
  throttledPerSecond: number;
  /** The rate limit as known at the time. */
  limitPerSecond?: number | undefined;
}

/** What keeps calls from starting. */
export interface Wait {
  why: 'paused' | Stall['why'] | 'outage' | 'backing_off' | 'stated' | 'rate' | 'pending';
  /** How long still, if that is known. */
  leftMs?: number | undefined;
  /** For a stall the trouble, in a sentence without a full stop; else why the last call failed. */
  text?: string | undefined;
  /** When calls began to fail, since 1970. */
  sinceMs?: number | undefined;
}

/**
 * Whether no lookup can be made because of the API or the queue: how long that takes is not known.
 */
export function isStalled({ why }: Wait): boolean {
  return why === 'outage' || why === 'no_worker' || why === 'queue' || why === 'redis';
}

/** Why rows were not enriched. */
export interface RunReason {
  status: keyof StatusCounts;
  /** As in the failures file. */
  reason: string;
  /** What the API wrote; what differs from row to row is `{domain}` or `…`. */
  said?: string | undefined;
  /** Of the last answer. */
  httpStatus?: number | undefined;
  rows: number;
  /** What it means, and what to do about it. */
  advice: string;
  /** The first rows with this reason; no domain for `invalid`. */
  examples: { domain: string; cell: string }[];
}

/** What became of pictures. */
export interface SavedLogos {
  folder: string;
  saved: number;
  kept: number;
  missing: number;
  reasons: Readonly<Record<string, number>>;
}

/** What one of several APIs was asked, and what came of it. */
export interface SourceView
  extends Pick<
    RunView,
    'due' | 'lookups' | 'calls' | 'bill' | 'cost' | 'currency' | 'limit' | 'callsPer'
  > {
  /** What it is called, as in the column `brand_source`. */
  name: string;
  /** Its base URL. */
  api: string;
  /** Domains that it knew. */
  found: number;
  /** Why it was not asked further. */
  stopped?: Stop | undefined;
}

export type RunAction = 'pause' | 'resume' | 'stop';

/** A run as it is now, or as it ended: plain data, bounded in size however long the run. */
export interface RunView {
  /** Of this format. */
  version: typeof VIEW_VERSION;
  /** The version of Brandfill. */
  brandfill: string;
  /** As in logs. */
  runId: string;
  /** The list, as given. */
  list: string;
  /** Its base URL, and the names of what goes with each call. */
  api: string;
  /** The queue on Redis that its lookups go over. */
  queue?: string | undefined;
  /** The command that was typed, without secrets. */
  command?: string | undefined;
  /** The machine that makes the run. */
  host: string;
  /** The process there. */
  pid: number;
  /** The schedule that started the run. */
  schedule?: { job: string } | undefined;
  /** Where it is, such as `looking_up`; `ended` when it is over. */
  phase: 'reading' | 'looking_up' | 'saving_logos' | 'stopping' | 'writing' | 'ended' | 'lost';
  /** Whether somebody has paused it. */
  isPaused: boolean;
  /** What can be asked of it now. */
  actions: RunAction[];
  /** In ISO 8601. */
  startedAt: string;
  /** Likewise. */
  endedAt?: string | undefined;
  /** `done`, `some_failed`, `nothing_found`, `stopped`, `interrupted` or `error`. */
  end?: 'done' | 'some_failed' | 'nothing_found' | 'stopped' | 'interrupted' | 'error' | undefined;
  /** As of the command. */
  exitCode?: number | undefined;
  /** How it went, in one sentence. */
  headline?: string | undefined;
  /** Why it stopped early, or what went wrong if `end` is `error`. */
  why?: string | undefined;
  /** The same of a stop, for programs: its `reason`, and `comeBackAtMs` where the API said. */
  stopped?: Stop | undefined;
  /** Of a sample: what all of its list would find, take and cost. */
  whole?: string | undefined;
  /** What to do next. */
  next?: string | undefined;
  /** Rows in the list; the header does not count. */
  rows: number;
  /** Rows by how they ended, or by how they stand. */
  statuses: StatusCounts;
  /** Different domains in the list. */
  uniqueDomains: number;
  /** Those that were fresh in the store. */
  freshDomains: number;
  /** Domains to look up. */
  due: number;
  /** Of a sample: rows with a domain in the whole list, and domains to look up. */
  sampleOf?: { rows: number; lookups: number } | undefined;
  /** Domains that were looked up. */
  lookups: number;
  /** The same by outcome. */
  outcomes: Record<OutcomeStatus, number>;
  /** Lookups that wait for an answer to be ready. */
  pendingNow: number;
  /** When to ask again about pending rows, since 1970. */
  pendingUntilMs?: number | undefined;
  /** HTTP requests made, throttled ones included. */
  calls: number;
  /** Lookups tried again. */
  retries: number;
  /** Calls refused for the moment (429 and the like). */
  throttled: number;
  /** At the price of `--price`, in its currency. */
  cost?: number | undefined;
  /** That of `--price`, if it has one. */
  currency?: string | undefined;
  /** What the API billed, where its profile says in what, such as `credits`. */
  bill?: { units: number; unit: string } | undefined;
  /** Of `--max-calls-per`, for all runs with this credential; when it begins anew, since 1970. */
  callsPer?: (CallsPer & { used: number; left: number; endsAtMs: number }) | undefined;
  /** The same of each, where several APIs are asked in turn. */
  sources?: SourceView[] | undefined;
  /** From start to finish. */
  elapsedMs: number;
  /** While lookups were being made. */
  lookupMs: number;
  /** On the whole. */
  callsPerSecond: number;
  /** Calls per second in the last seconds. */
  ratePerSecond: number;
  /**
   * What calls are held to: `limitIs` (`fixed`, `published`, `learned`, `unknown`),
   * `limitPerSecond`, `mostAtOnce`.
   */
  limit?: Limit | undefined;
  /** The same in words, once the run is over. */
  pace?: string | undefined;
  /** What was found out about the API, a sentence each, once the run is over. */
  findings?: string[] | undefined;
  /** When no call succeeded, the first 20 times; no `until` where the run ended before. */
  outages: { from: string; until?: string | undefined; why: string }[];
  /** The time left at the pace of the last half minute. */
  leftMs?: number | undefined;
  /** Why calls wait. */
  wait?: Wait | undefined;
  /** How long each span is. */
  spanMs: number;
  /** The run over time, from the first call on. */
  spans: Span[];
  /** What calls of this process came to, by HTTP status or reason. */
  answers: Record<string, number>;
  /** How long the calls of this process took. */
  latency?: { p50Ms: number; p95Ms: number } | undefined;
  /** What was noted, the first 20. */
  notices: { at: string; text: string }[];
  /** Why rows were not enriched, the 40 most frequent. */
  reasons: RunReason[];
  /** Columns that were added, and how many rows have a value. */
  columns: { name: string; rows: number }[];
  /** Rows that are written. */
  written?: number | undefined;
  /** The file with the rows; `-` for standard output. */
  out?: string | undefined;
  /** The file with the rows that were not enriched. */
  failures?: string | undefined;
  /** Rows written to the changes file. */
  changes?: { file: string; new: number; changed: number } | undefined;
  /** Blank cells of own columns that were filled, by column. */
  filled?: Record<string, number> | undefined;
  /** Domains whose picture is wanted. */
  logoTotal?: number | undefined;
  /** Pictures fetched, there already, and not to be had. */
  logos?: SavedLogos | undefined;
  /** The files with the reports of the run. */
  reports?: string[] | undefined;
  /** Where the answers are kept. */
  store?: { folder: string; sizeBytes: number } | undefined;
}

/** The view without its lists, for a log and for `onFinish`. */
export function inBrief(view: RunView) {
  const { spans, spanMs, answers, notices, reasons, columns, outages, ...brief } = view;
  return brief;
}

/** How far a run is: of rows as far as they are known, of logos, or of rows that are written. */
export function howFar({ phase, rows, statuses, logos, logoTotal = 0, written }: RunView) {
  const far =
    written !== undefined
      ? { done: written, total: rows, unit: 'rows written' }
      : phase === 'saving_logos' && logos
        ? { done: logos.saved + logos.kept + logos.missing, total: logoTotal, unit: 'logos' }
        : { done: sumOf(statuses) - statuses.skipped, total: rows, unit: 'rows' };
  const part = far.total > 0 ? Math.min(1, far.done / far.total) : 1;
  // Rounded down: unfinished work is never at 100 %.
  return { ...far, percent: Math.floor(part * 100) };
}

/** A run whose texts are in the words of whoever reads them. */
export function viewInWords(view: RunView, words: (message: string) => string): RunView {
  const { why, next, headline, notices, reasons } = view;
  return {
    ...view,
    headline: headline && words(headline),
    why: why && words(why),
    next: next && words(next),
    notices: notices.map(({ at, text }) => ({ at, text: words(text) })),
    reasons: reasons.map((of) => ({ ...of, advice: words(of.advice) })),
  };
}
