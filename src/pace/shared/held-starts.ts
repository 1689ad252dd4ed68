/** What became of start times since the last exchange. */
export interface StartCounts {
  readonly used: number;
  /** Dropped, because no caller was there in time. */
  readonly unused: number;
  /** Used by callers that had to wait for them. */
  readonly heldUp: number;
}

/**
 * Start times that a worker holds from one exchange to the next, ascending, in the time of the shared
 * state: so they stay what they were booked as.
 */
export interface HeldStarts {
  readonly all: readonly number[];
  readonly nextMs: number | undefined;
  readonly counts: StartCounts;
  /** Uses the next one if it is due. */
  take(nowMs: number): number | undefined;
  /** Counts what `work` uses as waited for. */
  countHeldUp(work: () => void): void;
  /** Drops those that are too late to be used. */
  dropLate(nowMs: number): void;
  /** All are void. */
  clear(): void;
  /**
   * Takes those of an exchange, which knew of `before`: what was used since is not to be had twice.
   *
   * @param kept how many of them were held before
   */
  renew(startsMs: readonly number[], kept: number, before: StartCounts): void;
  /** The same where all of them are void already. */
  renewVoid(before: StartCounts): void;
}

/**
 * A start time that nobody used is lost after this time: used later, calls would come closer than the
 * rate allows. Where the rate is to be found and callers are slower, all of the lease is theirs.
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
