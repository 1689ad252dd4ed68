import type { Plan } from '../collector/plan.ts';
import { formatSize } from '../common/format.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import type { PaceDescription } from '../worker/pace-memory.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { RunView } from './run-view.ts';

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
  | { readonly type: 'stopping'; readonly stop: Stop }
  /** Logos are being fetched, of so many domains; comes a few times a second. */
  | ({ readonly type: 'logos'; readonly total: number } & Readonly<
      Record<'saved' | 'kept' | 'missing', number>
    >)
  /** All lookups ended; the rows are joined and written. */
  | { readonly type: 'writing'; readonly rows: number }
  /** Rows were written; comes a few times a second where that takes longer than one. */
  | { readonly type: 'rows'; readonly written: number; readonly total: number };

/** How far the lookups are: what a `RunView` has of them, and the pace that it is made from. */
export interface Progress
  extends Pick<
    RunView,
    | 'due'
    | 'lookups'
    | 'outcomes'
    | 'rowsSoFar'
    | 'calls'
    | 'retries'
    | 'throttled'
    | 'bill'
    | 'lookupMs'
    | 'underWay'
    | 'pendingNow'
  > {
  /** What is known of the limit, and why no call may start. */
  readonly pace?: PaceDescription | undefined;
  /** A description of the API's outage, if there is one. */
  readonly outage?: string | undefined;
  /** Whether somebody paused the run. @default false */
  readonly isPaused?: boolean;
  /** Whether lookups wait on a queue that has no worker. @default false */
  readonly hasNoWorker?: boolean;
}

/** Says how far the reading of a long list is, before its rows can be counted. */
export interface ReadingReporter {
  readonly onRead: (name: string, readBytes: number, sizeBytes: number) => void;
  /** From now on something else says how far the run is. */
  end(): void;
}

/** Then twice as long, and so on: a list that takes an hour needs no hundred lines. */
const FIRST_MS = 10_000;

export function createReadingReporter({
  onNotice,
}: {
  readonly onNotice: (message: string) => void;
}): ReadingReporter {
  const startMs = performance.now();
  let nextMs = FIRST_MS;
  return {
    onRead: (name, readBytes, sizeBytes) => {
      const elapsedMs = performance.now() - startMs;
      if (elapsedMs < nextMs) return;
      nextMs = 2 * elapsedMs;
      const share = Math.floor((100 * readBytes) / sizeBytes);
      onNotice(`Reading ${name}: ${share}% of it, ${formatSize(readBytes)} so far.`);
    },
    end: () => {
      nextMs = Number.POSITIVE_INFINITY;
    },
  };
}
