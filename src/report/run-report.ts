import type { StatusCounts } from '../watch/summary.ts';

/**
 * The data of a report, as `--report run.json` writes it. Each member with its unit is in
 * docs/report.md; `report-schema.ts` is the same as a schema. Its size is bounded.
 */
export interface RunReport {
  readonly version: 1;
  readonly brandfill: string;
  readonly run: ReportedEnd;
  readonly rows: {
    readonly total: number;
    readonly statuses: Readonly<StatusCounts>;
    readonly areWritten: boolean;
    readonly ragged: number;
    readonly blankLines: number;
  };
  readonly domains: Readonly<Record<'unique' | 'fresh' | 'due' | 'lookedUp', number>>;
  readonly lookups: Readonly<
    Record<'found' | 'not_found' | 'rejected' | 'failed' | 'pending', number>
  >;
  readonly calls: {
    readonly total: number;
    readonly retries: number;
    readonly throttled: number;
    readonly perSecond: number;
    readonly measured: number;
    readonly answers: readonly { readonly answer: string; readonly calls: number }[];
  };
  readonly latency: ReportedLatency | null;
  readonly timeline: { readonly spanMs: number; readonly spans: readonly ReportedSpan[] };
  readonly pace: ReportedPace | null;
  readonly cost: ReportedCost | null;
  readonly bill: ReportedBill | null;
  readonly reasons: readonly ReportedReason[];
  readonly otherReasonRows: number;
  readonly columns: readonly ReportedColumn[];
  readonly filled: readonly ReportedColumn[];
  readonly slowest: readonly ReportedSlowCall[];
  readonly mostRetried: readonly ReportedRetries[];
  readonly files: ReportedFiles;
  readonly settings: readonly ReportedSetting[];
}

/** Identifies the run, and says how it ended. */
export interface ReportedEnd {
  readonly id: string;
  readonly input: string;
  readonly format: string;
  readonly domainColumn: string | null;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly elapsedMs: number;
  readonly lookupMs: number;
  readonly end: 'done' | 'some_failed' | 'nothing_found' | 'stopped' | 'interrupted' | 'error';
  readonly exitCode: number;
  readonly headline: string;
  readonly next: string;
  readonly stopReason: string | null;
  readonly comeBackAt: string | null;
  readonly error: string | null;
  readonly notices: readonly string[];
}

/** How long calls took, in milliseconds. */
export type ReportedLatency = Readonly<
  Record<'meanMs' | 'p50Ms' | 'p90Ms' | 'p95Ms' | 'p99Ms' | 'maxMs', number>
>;

/** What happened in one span of time. */
export interface ReportedSpan {
  readonly atMs: number;
  readonly callsPerSecond: number;
  readonly lookupsPerSecond: number;
  readonly throttledPerSecond: number;
  readonly retriesPerSecond: number;
  readonly limitPerSecond: number | null;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly toldMs: number;
  readonly backingOffMs: number;
  readonly outageMs: number;
  readonly pausedMs: number;
}

/** How fast calls could go. */
export interface ReportedPace {
  readonly limitIs: 'fixed' | 'published' | 'learned' | 'unknown';
  readonly limitPerSecond: number | null;
  readonly mostAtOnce: number | null;
  readonly throttledShare: number;
  readonly waitedMs: Readonly<Record<'told' | 'backingOff' | 'outage' | 'retryBudget', number>>;
}

/** What the calls cost, in the currency of `price`. */
export interface ReportedCost {
  readonly perCall: number;
  readonly calls: number;
  readonly total: number;
  readonly planned: number | null;
}

/** What the API billed, as far as its profile says. */
export interface ReportedBill {
  readonly units: number;
  readonly unit: string;
  readonly most: number | null;
  readonly price: number | null;
  readonly total: number | null;
}

/** Why some rows were not enriched. */
export interface ReportedReason {
  readonly status: keyof StatusCounts;
  readonly reason: string;
  readonly httpStatus: number | null;
  readonly rows: number;
  readonly advice: string;
  readonly examples: readonly ReportedExample[];
}

/** One row that has a reason. */
export interface ReportedExample {
  readonly row: number;
  readonly domain: string;
  readonly cell: string;
  readonly text: string;
}

/** In how many rows a column has a value, or was filled. */
export interface ReportedColumn {
  readonly name: string;
  readonly rows: number;
}

/** The slowest call for a domain. */
export interface ReportedSlowCall {
  readonly domain: string;
  readonly latencyMs: number;
  readonly answer: string;
}

/** A domain that was tried again. */
export interface ReportedRetries {
  readonly domain: string;
  readonly attempts: number;
  readonly status: keyof StatusCounts;
  readonly reason: string;
  readonly row: number;
}

/** Where the files are. */
export interface ReportedFiles {
  readonly out: string | null;
  readonly failures: string | null;
  readonly failuresSheet: string | null;
  readonly changes: {
    readonly file: string;
    readonly new: number;
    readonly changed: number;
  } | null;
  readonly logos: {
    readonly folder: string;
    readonly saved: number;
    readonly kept: number;
    readonly missing: number;
  } | null;
  readonly store: string;
  readonly storeBytes: number | null;
}

/** A setting of the run. */
export interface ReportedSetting {
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}
