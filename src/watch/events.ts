import type { OutcomeStatus } from '../brand/outcome.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { Bill, Plan } from '../producer/plan.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { RecentAnswer, RecentFailure } from './recent-outcomes.ts';

/** Events that a run emits while it goes on. */
export type RunEvent =
  /** The input was opened and understood. */
  | {
      readonly type: 'opened';
      readonly input: string;
      readonly format: string;
      readonly column: DomainColumn;
    }
  /** All rows were read once; no call was made yet. */
  | { readonly type: 'planned'; readonly plan: Plan }
  /** Something the user should know, in one sentence. Nothing is wrong if the level is `info`. */
  | { readonly type: 'notice'; readonly message: string; readonly level?: 'info' | 'warn' }
  /** Some lookups ended, or nothing did for a while; comes a few times a second. */
  | ({ readonly type: 'progress' } & Progress)
  /** The run was stopped: no new call starts, those under way finish. */
  | { readonly type: 'stopping'; readonly stop: Stop }
  /** Logos are being fetched; comes a few times a second. */
  | ({ readonly type: 'logos' } & LogoProgress)
  /** All lookups ended; the rows are joined and written. */
  | { readonly type: 'writing'; readonly rows: number }
  /** Rows were written; comes a few times a second where that takes longer than one. */
  | ({ readonly type: 'rows' } & WriteProgress);

/** How far the logos are, counted in domains. */
export interface LogoProgress {
  /** Domains with an answer. */
  readonly total: number;
  readonly saved: number;
  readonly kept: number;
  readonly missing: number;
  /** Since the first one. */
  readonly elapsedMs: number;
}

/** How far the writing of the rows is. */
export interface WriteProgress {
  readonly written: number;
  readonly total: number;
  /** Since the first one. */
  readonly elapsedMs: number;
}

/** How many rows of a list have come to each end so far. The others wait for a lookup. */
export interface RowProgress extends Readonly<Record<OutcomeStatus, number>> {
  /** Rows of the list. */
  readonly total: number;
  readonly invalid: number;
  /** Rows that needed no lookup, because the store had a fresh outcome. */
  readonly fresh: number;
  /** Rows that will not be looked up, since the run was stopped. */
  readonly skipped: number;
}

/**
 * What keeps calls from starting, apart from the pace:
 * - `no_worker`: no worker is on the queue.
 * - `retry_budget`: the budget is used up, which holds up retries only.
 * - `another_run`: another run on the same store asks about all domains that are left.
 */
export type HeldBy = 'no_worker' | 'retry_budget' | 'another_run';

/** How far the lookups are. */
export interface Progress {
  /** Lookups to be made in this run. */
  readonly lookups: number;
  /** Lookups that ended; in the end also those that another run has made meanwhile. */
  readonly done: number;
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** The same, counted in rows. */
  readonly rows?: RowProgress;
  readonly calls: number;
  readonly retries: number;
  readonly throttled: number;
  /** What the API billed so far; missing where no profile says what it bills. */
  readonly bill?: Bill | undefined;
  /** Since the first lookup. */
  readonly elapsedMs: number;
  /** How long no call may start, because the API said so; 0 when calls go out. */
  readonly waitMs: number;
  /** How fast calls may start, what is known of the limit, and why it is not faster. */
  readonly pace?: PaceDescription | undefined;
  /** A description of the API's outage, if there is one. */
  readonly outage?: string | undefined;
  /** Whether somebody paused the run. @default false */
  readonly isPaused?: boolean;
  readonly heldBy?: HeldBy | undefined;
  /**
   * Whether calls are reported by the chunk, so that a moment without news means nothing. @default
   * false
   */
  readonly comesInBursts?: boolean;
  /** Lookups that were handed out and have no outcome yet. */
  readonly underWay?: number;
  /**
   * Lookups that the API has accepted and has no answer ready for, and when the last of them is
   * asked again, in milliseconds since 1970 (0 when all are being asked).
   */
  readonly pending?: { readonly count: number; readonly untilMs: number } | undefined;
  /** The last lookups that failed or were rejected, the latest first. */
  readonly recentFailures?: readonly RecentFailure[];
  /** Some of the last answers, the latest first. */
  readonly recentAnswers?: readonly RecentAnswer[];
}

/** Whether a run was stopped before all its lookups. It shows only at the end. */
export function hasStopped({ rows }: Pick<Progress, 'rows'>): boolean {
  return (rows?.skipped ?? 0) > 0;
}

/** Progress of a worker, which works for any run and so knows of no end. */
export type WorkProgress = Pick<
  Progress,
  'outcomes' | 'calls' | 'retries' | 'throttled' | 'elapsedMs' | 'waitMs' | 'pace' | 'outage'
>;
