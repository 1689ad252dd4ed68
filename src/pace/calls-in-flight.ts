/** The calls that were let through and not yet reported. */
export interface CallsInFlight {
  start(atMs: number): void;
  /**
   * Ends the call that was sent at that time. Returns how many were in flight when it was sent,
   * itself included. A call that was already given up as lost ends none.
   */
  end(sentAtMs: number): number;
  /** The call that was let through at `enteredAtMs` starts only now. */
  startLate(enteredAtMs: number, atMs: number): void;
  count(nowMs: number): number;
  /** When the calls were let through, ascending. */
  sentAtMs(nowMs: number): number[];
}

/** A call that is not reported within this time counts as lost. */
const LOST_AFTER_MS = 5 * 60_000;

export function createCallsInFlight(): CallsInFlight {
  /** Oldest first. */
  const calls: { readonly startMs: number; readonly inFlight: number }[] = [];

  function forgetLost(nowMs: number): void {
    while (calls[0] && nowMs - calls[0].startMs > LOST_AFTER_MS) calls.shift();
  }

  function start(startMs: number): void {
    calls.push({ startMs, inFlight: calls.length + 1 });
  }

  function end(sentAtMs: number): number {
    // A call is sent right after it was let through. Calls that end are mostly among the oldest.
    const later = calls.findIndex(({ startMs }) => startMs > sentAtMs);
    const at = (later < 0 ? calls.length : later) - 1;
    if (at < 0) return 1;
    const [call] = calls.splice(at, 1);
    return call?.inFlight ?? 1;
  }

  return {
    start,
    end,
    startLate: (enteredAtMs, atMs) => {
      end(enteredAtMs);
      start(atMs);
    },
    count: (nowMs) => {
      forgetLost(nowMs);
      return calls.length;
    },
    sentAtMs: (nowMs) => {
      forgetLost(nowMs);
      return calls.map(({ startMs }) => startMs);
    },
  };
}
