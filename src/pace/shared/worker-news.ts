import type { PaceEvent } from '../pace-event.ts';

/** The report of a worker when it comes for start times. All times are of the shared clock. */
export interface WorkerNews {
  readonly worker: string;
  readonly callers: number;
  /** When its calls in flight were sent, ascending. */
  readonly sentAtMs: readonly number[];
  /** Callers that wait for a start. */
  readonly waiting: number;
  /**
   * Whether calls were made since the last exchange. All its callers will then want to make some.
   */
  readonly isBusy: boolean;
  /** Start times that it still holds, ascending. */
  readonly startsMs: readonly number[];
  /** Whether its callers used all start times that the rate allowed. */
  readonly hasUsedAll: boolean;
  /** The calls that ended since the last exchange. */
  readonly events: readonly EndedCall[];
  readonly verdicts: readonly Verdict[];
  /** True when it will not come again. */
  readonly isLeaving: boolean;
}

export type EndedCall = PaceEvent & { readonly endedAtMs: number };

/** The evidence of a call on the health of the API. */
export interface Verdict {
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly isFailure: boolean;
  /** Whether the answer was 503. */
  readonly isRefused?: boolean | undefined;
  /** How long the API said to wait, with a failure. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the call got no connection at all. */
  readonly isUnreached?: boolean | undefined;
}
