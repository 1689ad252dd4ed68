/** How start times were used since the last exchange. */
export interface StartCounts {
  readonly used: number;
  /** Start times that were dropped because no caller came in time. */
  readonly unused: number;
  /** Start times used by callers that had to wait for them. */
  readonly heldUp: number;
}

/**
 * The start times that a worker holds from one exchange to the next, ascending. They are in the
 * time of the shared state, so that they stay as booked.
 */
export interface HeldStarts {
  readonly all: readonly number[];
  readonly nextMs: number | undefined;
  readonly counts: StartCounts;
  /** Uses the next start time if it is due. */
  take(nowMs: number): number | undefined;
  /** Counts the start times that `work` uses as waited for. */
  countHeldUp(work: () => void): void;
  /** Drops start times that are too late to be used. */
  dropLate(nowMs: number): void;
  /** Drops all start times as void. */
  clear(): void;
  /**
   * Takes the start times of an exchange, which knew of the counts `before`. Start times used since
   * then are not available again.
   *
   * @param kept how many of the start times were held before
   */
  renew(startsMs: readonly number[], kept: number, before: StartCounts): void;
  /** The same when all of the start times are void already. */
  renewVoid(before: StartCounts): void;
}

/**
 * A start time that was not used within this time is lost: used later, calls would come closer
 * together than the rate allows. While the rate is not fixed and callers are slower than it, start
 * times stay valid for the whole lease.
 */
const LATE_MS = 50;

export function createHeldStarts(): HeldStarts {
  let startsMs: number[] = [];
  let used = 0;
  let unused = 0;
  let heldUp = 0;

  function forget(before: StartCounts): void {
    used -= before.used;
    unused -= before.unused;
    heldUp -= before.heldUp;
  }

  return {
    get all() {
      return startsMs;
    },
    get nextMs() {
      return startsMs[0];
    },
    get counts() {
      return { used, unused, heldUp };
    },
    take: (nowMs) => {
      const [startMs] = startsMs;
      if (startMs === undefined || startMs > nowMs) return undefined;
      startsMs.shift();
      used += 1;
      return startMs;
    },
    countHeldUp: (work) => {
      const before = used;
      work();
      heldUp += used - before;
    },
    dropLate: (nowMs) => {
      let late = 0;
      while ((startsMs[late] ?? nowMs) < nowMs - LATE_MS) late += 1;
      if (late > 0) startsMs.splice(0, late);
      unused += late;
    },
    clear: () => {
      startsMs = [];
    },
    renew: (starts, kept, before) => {
      forget(before);
      startsMs = starts.slice(Math.min(used + unused, kept));
    },
    renewVoid: (before) => {
      forget(before);
      startsMs = [];
    },
  };
}
