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
  Record<'calls' | 'throttled' | 'billedMicros', number | undefined>
>;

/**
 * Adds the calls that an outcome reports, and what they cost. Of calls about several domains each
 * has its share: round the sums.
 */
export function addCallsOf(
  { attempts, throttled = 0, calls = attempts + throttled, billedMicros = 0 }: CallsOfOutcome,
  counters: CallCounters,
): void {
  counters.calls += calls;
  counters.retries += Math.max(0, calls - throttled - 1);
  counters.throttled += throttled;
  counters.billedMicros += billedMicros;
}
