import type { PaceEvent } from '../pace-event.ts';

/** What a worker tells when it comes for start times. All times are those of the shared clock. */
export interface WorkerNews {
  readonly worker: string;
  readonly callers: number;
  /** When its calls in flight were sent, ascending. */
  readonly sentAtMs: readonly number[];
  /** Callers that wait for a start. */
  readonly waiting: number;
  /** Whether calls were made since it came last: then all its callers will want to make some. */
  readonly isBusy: boolean;
  /** Start times of before that it still holds, ascending. */
  readonly startsMs: readonly number[];
  /** Whether its callers used all start times that the rate allowed. */
  readonly hasUsedAll: boolean;
  /** What came of its calls since it came last. */
  readonly events: readonly EndedCall[];
  readonly verdicts: readonly Verdict[];
  /** True when it will not come again. */
  readonly isLeaving: boolean;
}

export type EndedCall = PaceEvent & { readonly endedAtMs: number };

/** What a call said of the health of the API. */
export interface Verdict {
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly isFailure: boolean;
  /** Whether it was answered 503. */
  readonly isRefused?: boolean | undefined;
}
