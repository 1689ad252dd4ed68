import type { ChangeCounts } from '../collector/changes/changes.ts';
import type { RowStatus } from '../collector/joined-row.ts';
import { EXIT } from '../common/errors.ts';
import type { CallsPer } from '../guard/budget.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { Bill } from '../producer/plan.ts';
import type { Stop } from '../worker/stop-switch.ts';

/** The result of a run. */
export interface Summary {
  /** The id of the run in logs. */
  readonly runId: string;
  /** Rows in the input; the sum of `statuses`. */
  readonly rows: number;
  /** Rows by how they ended. */
  readonly statuses: Readonly<StatusCounts>;
  /** Number of different domains in the input. */
  readonly uniqueDomains: number;
  /** Domains that needed no call, because the store had a fresh outcome. */
  readonly freshDomains: number;
  /** Domains that were looked up. */
  readonly lookups: number;
  /** HTTP requests made, throttled ones included. */
  readonly calls: number;
  /** Times a lookup was tried again after a failure. */
  readonly retries: number;
  /** Calls that the API refused for the moment (429 and the like). */
  readonly throttled: number;
  /**
   * Cost of the calls at the given price, those answered 429 left out; undefined without a price.
   */
  readonly cost: number | undefined;
  /**
   * What the API billed; missing where no profile says what it bills, and where a run asks two:
   * units of two APIs do not add up. `cost` is then of these units.
   */
  readonly bill?: Bill;
  /** What each API was asked, where a run asks two (`then`); missing where it asks one. */
  readonly apis?: readonly ApiSummary[];
  /** From start to finish, in milliseconds. */
  readonly elapsedMs: number;
  /** While lookups were being made, in milliseconds. */
  readonly lookupMs: number;
  /** Calls per second while lookups were being made; 0 when there were none. */
  readonly callsPerSecond: number;
  /** How fast calls could go, and what kept them waiting; undefined when this process made none. */
  readonly pace: PaceSummary | undefined;
  /** The budget `maxCallsPer` of all runs with this credential; missing without it. */
  readonly callsPer?: CallsPerSummary | undefined;
  /**
   * When to ask again about the rows that are pending, in milliseconds since 1970; missing when
   * there are none or the API did not say.
   */
  readonly pendingUntilMs?: number | undefined;
  /** Where answers are kept, and how much room all of them take on the disk, in bytes. */
  readonly store: { readonly folder: string; readonly sizeBytes: number };
  /** Why the run stopped before all domains were asked; undefined when it did not. */
  readonly stopped: Stop | undefined;
  /** The file with the rows; undefined when they went to the caller. */
  readonly out: string | undefined;
  /** The file with the rows that were not enriched. */
  readonly failures: string | undefined;
  /** The sheet of `failures` that they are on, if that is the workbook of all rows. */
  readonly failuresSheet: string | undefined;
  /**
   * How many blank cells of the list's own columns were filled, by column; undefined without
   * `fill`.
   */
  readonly filled: Readonly<Record<string, number>> | undefined;
  /** Counts of logos; undefined when none were to be saved. */
  readonly logos: LogosSummary | undefined;
  /** The file with the rows that changed, and how many there are; undefined without `changes`. */
  readonly changes: ({ readonly file: string } & Readonly<ChangeCounts>) | undefined;
  /** The files with the reports of the run; missing when none was asked for. */
  readonly reports?: readonly string[];
}

/** What one of two APIs was asked. */
export interface ApiSummary
  extends Pick<
      Summary,
      'lookups' | 'calls' | 'retries' | 'throttled' | 'cost' | 'pace' | 'callsPer'
    >,
    Pick<Partial<Summary>, 'bill'> {
  /** Its name, as in the column `brand_api`. */
  readonly name: string;
  /** Rows that were found there, in this run or before. */
  readonly found: number;
  readonly stopped: Stop | undefined;
}

/** The calls that all runs with one credential may make together, and how many they have made. */
export interface CallsPerSummary extends CallsPer {
  /**
   * Calls used in this window, including those that other processes have taken but not made yet.
   */
  readonly used: number;
  readonly left: number;
  /** When the next window begins, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/** Logos of the domains that were found, each domain once. */
export interface LogosSummary {
  /** The folder they are in. */
  readonly folder: string;
  /** Fetched in this run. */
  readonly saved: number;
  /** Those that were there already. */
  readonly kept: number;
  /** Those that could not be fetched. */
  readonly missing: number;
  /** Why not, counted by the word that is in the rows. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** How fast calls could go, and what kept them waiting. */
export interface PaceSummary {
  /**
   * Where the limit comes from: `fixed` was given with `rate`, `published` is in the API's headers,
   * `learned` was found out, `unknown` was never met.
   */
  readonly limitIs: PaceDescription['limitIs'];
  /**
   * The limit in calls per second, a published one slightly reduced; undefined where it is unknown.
   */
  readonly limitPerSecond: number | undefined;
  /** Most calls at the same time; undefined where the API does not limit those. */
  readonly mostAtOnce: number | undefined;
  /** The share of the calls that were throttled, from 0 to 1. */
  readonly throttledShare: number;
  readonly waitedMs: WaitsSummary;
}

/**
 * For how long this process was kept waiting, by cause, in milliseconds of wall-clock time. Time
 * counts once, however many callers waited. Causes may overlap. The spacing of calls by the rate
 * does not count as waiting. Each wait is measured from the closing of the gate to its opening. The
 * exceptions are outages and, over a queue, everything but the retry budget: those are sampled four
 * times a second.
 */
export interface WaitsSummary {
  /** No call could start, because the API had asked to wait for a given time. */
  readonly told: number;
  /** No call could start, because the API had throttled calls without a time to wait. */
  readonly backingOff: number;
  /** No call could start, because the API was out. */
  readonly outage: number;
  /** At least one retry could not start, because there are only so many retries for so many calls. */
  readonly retryBudget: number;
}

/** Rows by how they ended. */
export type StatusCounts = Record<RowStatus, number>;

/** Summarizes how fast calls could go, from what is known at the end of a run. */
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

/** Counts of zero for all statuses. */
export function createStatusCounts(): StatusCounts {
  return {
    found: 0,
    stale: 0,
    not_found: 0,
    rejected: 0,
    failed: 0,
    pending: 0,
    invalid: 0,
    skipped: 0,
  };
}

/** The number of rows over all statuses. */
export function sumOf(statuses: Readonly<StatusCounts>): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}

/**
 * Why a run was for nothing, if it was: `no_domain` when every row is invalid, `no_answer` when
 * calls were made and no row is found, not even with an earlier answer. Lists have such rows; a
 * list of nothing else speaks of a wrong column or a wrong API, and somebody should look.
 */
export function findNothing({
  statuses,
  calls,
}: Pick<Summary, 'statuses' | 'calls'>): 'no_domain' | 'no_answer' | undefined {
  const rows = sumOf(statuses);
  if (rows === 0) return undefined;
  if (statuses.invalid === rows) return 'no_domain';
  const { not_found, rejected, invalid } = statuses;
  return calls > 0 && not_found + rejected + invalid === rows ? 'no_answer' : undefined;
}

/**
 * The exit code of a run.
 *
 * @param run `calls` is left out where one domain was tried: that it is not known is then the answer
 */
export function exitCodeOf({
  stopped,
  statuses,
  calls = 0,
}: Pick<Summary, 'stopped' | 'statuses'> & Partial<Pick<Summary, 'calls'>>): number {
  if (stopped?.reason === 'interrupted') return EXIT.interrupted;
  if (stopped) return EXIT.stopped;
  // Rows are skipped without a stop when their outcomes were removed from the store meanwhile.
  const { failed, stale, pending, skipped } = statuses;
  if (failed + stale + pending + skipped > 0) return EXIT.someFailed;
  return findNothing({ statuses, calls }) ? EXIT.someFailed : EXIT.ok;
}
