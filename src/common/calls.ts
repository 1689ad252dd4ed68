/** Counts of calls so far. */
export interface CallCounters {
  /** HTTP requests made, including throttled ones. */
  calls: number;
  /** Calls that the API refused for the moment (429 and the like). */
  throttled: number;
  /** Calls made here that never reached the API, since there was no connection. */
  unsent: number;
  /** How often lookups were retried after a failure. */
  retries: number;
  /** What the API billed, in millionths of the unit that its profile names; 0 without one. */
  billedMicros: number;
}

/** Counters at zero. */
export function createCallCounters(): CallCounters {
  return { calls: 0, throttled: 0, unsent: 0, retries: 0, billedMicros: 0 };
}

type CallsOfOutcome = { readonly attempts: number } & Partial<
  Record<'throttled' | 'billedMicros', number | undefined>
>;

/**
 * Adds the calls that an outcome reports: those answered 429 (`throttled`) and all others
 * (`attempts`), and what they cost.
 */
export function addCallsOf(
  { attempts, throttled = 0, billedMicros = 0 }: CallsOfOutcome,
  counters: CallCounters,
): void {
  counters.calls += attempts + throttled;
  counters.retries += Math.max(0, attempts - 1);
  counters.throttled += throttled;
  counters.billedMicros += billedMicros;
}

/**
 * The limits that an API states in the headers of an answer, in any dialect. No number is negative
 * or infinite. The client of the API reads the limits and the pacer follows them; neither knows the
 * other.
 */
export interface LimitHints {
  /** At most `count` calls in any `perMs` milliseconds; of several policies the slowest. */
  readonly quota?: { readonly count: number; readonly perMs: number } | undefined;
  /** Calls left until the reset; of several policies the fewest. */
  readonly remaining?: number | undefined;
  /** Milliseconds from the answer until calls are available again. */
  readonly resetMs?: number | undefined;
  /** The most calls at the same time. */
  readonly concurrent?: number;
}

/** No wait that a server states counts for longer: a year. */
export const LONGEST_STATED_MS = 31_536_000_000;

/**
 * Whether a wait is the longest that counts instead of what the server stated. Such a wait is kept,
 * but its end is no time that the server named, so it is never reported as one.
 */
export function isCapped(waitMs: number): boolean {
  return waitMs >= LONGEST_STATED_MS;
}
