/**
 * What an API says about its own limits in the headers of an answer, whatever their dialect. Nothing in
 * it is negative or endless. The client of the API reads it and the pacer goes by it, and neither knows
 * the other.
 */
export interface LimitHints {
  /** At most `count` calls in any `perMs` milliseconds; of several policies the slowest. */
  readonly quota?: { readonly count: number; readonly perMs: number };
  /** Calls that are left until the reset; of several policies the fewest. */
  readonly remaining?: number;
  /** Milliseconds from the answer until calls are available again. */
  readonly resetMs?: number;
  /** At most so many calls at the same time. */
  readonly concurrent?: number;
}
