import type { ChangeCounts } from '../collector/changes/changes.ts';
import type { RowStatus } from '../collector/joined-row.ts';
import type { CallsPer } from '../guard/calendar-window.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { Stop } from '../worker/stop-switch.ts';

/** What a run did. */
export interface Summary {
  /** What the run is called in logs. */
  readonly runId: string;
  /** Rows in the input; the sum of `statuses`. */
  readonly rows: number;
  /** Rows by how they ended. */
  readonly statuses: Readonly<StatusCounts>;
  /** Different domains in the input. */
  readonly uniqueDomains: number;
  /** Domains that needed no call, because the store had a fresh outcome. */
  readonly freshDomains: number;
  /** Domains that were looked up. */
  readonly lookups: number;
  /** HTTP requests made, those answered 429 included. */
  readonly calls: number;
  /** Times a lookup was tried again after a failure. */
  readonly retries: number;
  /** Calls that were answered 429. */
  readonly throttled: number;
  /** What the calls cost at the price that was given, those answered 429 left out; else undefined. */
  readonly cost: number | undefined;
  /** From start to finish, in milliseconds. */
  readonly elapsedMs: number;
  /** While lookups were being made, in milliseconds. */
  readonly lookupMs: number;
  /** Calls per second while lookups were being made; 0 when there were none. */
  readonly callsPerSecond: number;
  /** How fast calls could go, and what kept them waiting; undefined when this process made none. */
  readonly pace: PaceSummary | undefined;
  /** What is left of `maxCallsPer`, by all runs with this credential; missing without it. */
  readonly callsPer?: CallsPerSummary | undefined;
  /** Where answers are kept, and how much room all of them take on the disk, in bytes. */
  readonly store: { readonly folder: string; readonly sizeBytes: number };
  /** Why the run stopped before all was asked; undefined when it did not. */
  readonly stopped: Stop | undefined;
  /** Where the rows are; undefined when they went to the caller. */
  readonly out: string | undefined;
  /** Where the rows are that were not enriched. */
  readonly failures: string | undefined;
  /** The sheet of it that they are on, where it is the workbook of all rows. */
  readonly failuresSheet: string | undefined;
  /** How many blank cells of the list's own were filled, by column; undefined when none was to be. */
  readonly filled: Readonly<Record<string, number>> | undefined;
  /** What became of logos; undefined when none were to be saved. */
  readonly logos: LogosSummary | undefined;
  /** Where the rows are that there is something to tell of, and how many; undefined without them. */
  readonly changes: ({ readonly file: string } & Readonly<ChangeCounts>) | undefined;
  /** Where the reports of the run are; missing when none was wanted. */
  readonly reports?: readonly string[];
}

/** Calls that all runs with one credential may make together, and how many they have made. */
export interface CallsPerSummary extends CallsPer {
  /** In this window, those included that others have taken and not made yet. */
  readonly used: number;
  readonly left: number;
  /** When the next window begins, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/** Logos of the domains that were found, each domain once. */
export interface LogosSummary {
  /** Where they are. */
  readonly folder: string;
  /** Fetched in this run. */
  readonly saved: number;
  /** Those that were there. */
  readonly kept: number;
  /** Those that could not be had. */
  readonly missing: number;
  /** Why not, by the word that is in the rows. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** How fast calls could go, and what kept them waiting. */
export interface PaceSummary {
  /**
   * Where the limit is from that was kept to: `fixed` was given with `rate`, `published` is in the
   * API's headers, `learned` was found out, `unknown` was never met.
   */
  readonly limitIs: PaceDescription['limitIs'];
  /** That limit, in calls per second, a published one less a hair; undefined where it is unknown. */
  readonly limitPerSecond: number | undefined;
  /** Most calls at the same time; undefined where the API does not limit those. */
  readonly mostAtOnce: number | undefined;
  /** The share of the calls that were answered 429, from 0 to 1. */
  readonly throttledShare: number;
  readonly waitedMs: WaitsSummary;
}

/**
 * For how long this process was kept waiting, by why, in milliseconds of the clock on the wall: once,
 * however many callers waited. Reasons may hold at the same time. That calls are spaced by the rate
 * is no waiting. Measured from the closing of the way to its opening, except for outages and, over a
 * queue, for all but the retry budget: those are looked at four times a second.
 */
export interface WaitsSummary {
  /** No call could start, because the API had named a time. */
  readonly told: number;
  /** No call could start, because the API had answered 429 and named no time. */
  readonly backingOff: number;
  /** No call could start, because the API was out. */
  readonly outage: number;
  /** At least one retry could not start, because there are only so many retries for so many calls. */
  readonly retryBudget: number;
}

/** Rows by how they ended. */
export type StatusCounts = Record<RowStatus, number>;

/** Says how fast calls could go, from what is known of it at the end of a run. */
export function summarizePace(
  pace: PaceDescription,
  {
    calls,
    throttled,
    waitedMs,
  }: Pick<Summary, 'calls' | 'throttled'> & { readonly waitedMs: WaitsSummary },
): PaceSummary {
  const { limitIs, ratePerSecond, learnedLimitPerSecond, concurrencyLimit } = pace;
  return {
    limitIs,
    limitPerSecond: limitIs === 'fixed' ? ratePerSecond : learnedLimitPerSecond,
    mostAtOnce: concurrencyLimit,
    throttledShare: calls === 0 ? 0 : throttled / calls,
    waitedMs,
  };
}

/** No row counted yet. */
export function createStatusCounts(): StatusCounts {
  return { found: 0, not_found: 0, rejected: 0, failed: 0, invalid: 0, skipped: 0 };
}

/** Rows over all statuses. */
export function sumOf(statuses: Readonly<StatusCounts>): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}
