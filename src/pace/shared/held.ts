import type { EndedCall, Verdict } from './state.ts';

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

/**
 * What a worker has to report about its calls at the next exchange, in the time of this process.
 */
export interface CallNews {
  readonly events: readonly EndedCall[];
  readonly verdicts: readonly Verdict[];
}

/** Keeps the news of calls until the next exchange. */
export interface CallNewsBox {
  readonly isEmpty: boolean;
  /** Whether other workers must know of it at once. */
  readonly isUrgent: boolean;
  /** A call that was booked for `startMs`, in the time of the state, starts now, at `atMs`. */
  noteStart(startMs: number, atMs: number): void;
  addEvent(event: EndedCall): void;
  addVerdict(verdict: Verdict): void;
  take(): CallNews;
  /** Puts back news that could not be reported, before news that came since. */
  putBack(news: CallNews): void;
  /** The news in the time of the state, which is ahead of that of this process by `aheadMs`. */
  inSharedTime(news: CallNews, aheadMs: number): CallNews;
}

/** While the state cannot be reached, no more than this many are kept. The latest say most. */
const MOST_KEPT = 20_000;

export function createCallNewsBox(): CallNewsBox {
  let events: EndedCall[] = [];
  let verdicts: Verdict[] = [];
  let latest = { startMs: 0, atMs: Number.POSITIVE_INFINITY };

  /**
   * Clocks cannot be compared to the millisecond, but a call was not sent before its start time.
   */
  function timesOf({ sentAtMs, endedAtMs }: Verdict | EndedCall, aheadMs: number): CallTimes {
    const earliestMs = sentAtMs >= latest.atMs ? latest.startMs : Number.NEGATIVE_INFINITY;
    const sentAtSharedMs = Math.max(sentAtMs + aheadMs, earliestMs);
    return {
      sentAtMs: sentAtSharedMs,
      endedAtMs: Math.max(endedAtMs + aheadMs, sentAtSharedMs),
    };
  }

  return {
    get isEmpty() {
      return events.length === 0 && verdicts.length === 0;
    },
    get isUrgent() {
      const isTold = ({ retryAfterMs = 0 }: Verdict): boolean => retryAfterMs > 0;
      return events.some(({ kind }) => kind === 'throttled') || verdicts.some(isTold);
    },
    noteStart: (startMs, atMs) => {
      latest = { startMs, atMs };
    },
    addEvent: (event) => {
      events.push(event);
      if (events.length > MOST_KEPT) events.shift();
    },
    addVerdict: (verdict) => {
      verdicts.push(verdict);
      if (verdicts.length > MOST_KEPT) verdicts.shift();
    },
    take: () => {
      const taken = { events, verdicts };
      events = [];
      verdicts = [];
      return taken;
    },
    putBack: (news) => {
      events = [...news.events, ...events].slice(-MOST_KEPT);
      verdicts = [...news.verdicts, ...verdicts].slice(-MOST_KEPT);
    },
    inSharedTime: (news, aheadMs) => ({
      events: news.events.map((event) => ({ ...event, ...timesOf(event, aheadMs) })),
      verdicts: news.verdicts.map((verdict) => ({ ...verdict, ...timesOf(verdict, aheadMs) })),
    }),
  };
}

type CallTimes = Pick<Verdict, 'sentAtMs' | 'endedAtMs'>;
