import type { Stall } from '../calls/lookup-queue.ts';
import { createOutcomeCounts } from '../calls/outcome.ts';
import type { Plan } from '../collector/first-reading.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import type { PaceDescription } from '../worker/pace-memory.ts';
import type { Stop } from '../worker/stop-switch.ts';
import { createStatusCounts, type RunView } from './run-view.ts';

/** How often a run reports how far it is. */
export const PROGRESS_MS = 250;

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
  | {
      readonly type: 'stopping';
      readonly stop: Stop;
      /** Whether other APIs are asked all the same. @default false */
      readonly goesOn?: boolean;
    }
  /** Logos are being fetched, of so many domains; comes a few times a second. */
  | ({ readonly type: 'logos'; readonly total: number } & Readonly<
      Record<'saved' | 'kept' | 'missing', number>
    >)
  /**
   * All lookups ended, and the rows are joined and written: so many by now, said a few times a
   * second where that takes longer than one.
   */
  | { readonly type: 'writing'; readonly written?: number };

/** No lookup was made yet. */
export const NO_LOOKUP = {
  statuses: createStatusCounts(),
  due: 0,
  lookups: 0,
  outcomes: createOutcomeCounts(),
  pendingNow: 0,
  calls: 0,
  retries: 0,
  throttled: 0,
  lookupMs: 0,
};

/** How far the lookups are: what a `RunView` has of them, and why calls wait. */
export interface Progress
  extends Pick<RunView, keyof typeof NO_LOOKUP | 'bill' | 'cost' | 'currency' | 'sources'> {
  /** What is known of the limit, and why no call may start. */
  readonly pace?: PaceDescription | undefined;
  /** Why nothing comes from the queue. @default something comes */
  readonly stall?: Stall | undefined;
  /** When nothing is left but pending lookups: how long until they were all asked again. */
  readonly pendingWaitMs?: number | undefined;
}
