/** Counts of calls so far. */
export interface CallCounters {
  /** HTTP requests made, including those answered 429. */
  calls: number;
  /** Calls that were answered 429. */
  throttled: number;
  /** How often lookups were retried after a failure. */
  retries: number;
  /** What the API billed, in millionths of the unit that its profile names; 0 without one. */
  billedMicros: number;
}

/** Counters at zero. */
export function createCallCounters(): CallCounters {
  return { calls: 0, throttled: 0, retries: 0, billedMicros: 0 };
}

/**
 * Adds the calls that an outcome reports: those answered 429 (`throttled`) and all others
 * (`attempts`), and what they cost.
 */
export function addCallsOf(
  {
    attempts,
    throttled = 0,
    billedMicros = 0,
  }: {
    readonly attempts: number;
    readonly throttled?: number | undefined;
    readonly billedMicros?: number | undefined;
  },
  counters: CallCounters,
): void {
  counters.calls += attempts + throttled;
  counters.retries += Math.max(0, attempts - 1);
  counters.throttled += throttled;
  counters.billedMicros += billedMicros;
}
