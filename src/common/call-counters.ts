/** Calls that were made so far. */
export interface CallCounters {
  /** HTTP requests made, those answered 429 included. */
  calls: number;
  /** Calls that were answered 429. */
  throttled: number;
  /** Times a lookup was tried again after a failure. */
  retries: number;
}

/** No call yet. */
export function createCallCounters(): CallCounters {
  return { calls: 0, throttled: 0, retries: 0 };
}

/** Adds the calls that an outcome tells of: those answered 429 (`throttled`), and all others (`attempts`). */
export function addCallsOf(
  {
    attempts,
    throttled = 0,
  }: { readonly attempts: number; readonly throttled?: number | undefined },
  counters: CallCounters,
): void {
  counters.calls += attempts + throttled;
  counters.retries += Math.max(0, attempts - 1);
  counters.throttled += throttled;
}
