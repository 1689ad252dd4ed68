/** The limits that an API states in the headers of an answer, in any dialect. */
export interface LimitHints {
  /** At most `count` calls in any `perMs` milliseconds; of several policies the slowest. */
  readonly quota?: { readonly count: number; readonly perMs: number };
  /** Calls that are left until the reset. */
  readonly remaining?: number;
  /** Milliseconds from the answer until calls are available again. */
  readonly resetMs?: number;
  /** The most calls at the same time. */
  readonly concurrent?: number;
}
