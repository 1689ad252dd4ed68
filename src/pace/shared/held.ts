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
 * A start time that was not used within this time is lost: used later, calls would come closer
 * together than the rate allows. While the rate is not fixed and callers are slower than it, start
 * times stay valid for the whole lease.
 */
const LATE_MS = 50;

/**
 * The start times that a worker holds from one exchange to the next, ascending. They are in the
 * time of the shared state, so that they stay as booked.
 */
export class HeldStarts {
  #startsMs: number[] = [];
  #counts = { used: 0, unused: 0, heldUp: 0 };

  get all(): readonly number[] {
    return this.#startsMs;
  }

  get nextMs(): number | undefined {
    return this.#startsMs[0];
  }

  get counts(): StartCounts {
    return { ...this.#counts };
  }

  /** Uses the next start time if it is due. */
  take(nowMs: number): number | undefined {
    const { nextMs } = this;
    if (nextMs === undefined || nextMs > nowMs) return undefined;
    this.#startsMs.shift();
    this.#counts.used += 1;
    return nextMs;
  }

  /** Counts the start times that `work` uses as waited for. */
  countHeldUp(work: () => void): void {
    const before = this.#counts.used;
    work();
    this.#counts.heldUp += this.#counts.used - before;
  }

  /** Drops start times that are too late to be used. */
  dropLate(nowMs: number): void {
    let late = 0;
    while ((this.#startsMs[late] ?? nowMs) < nowMs - LATE_MS) late += 1;
    if (late > 0) this.#startsMs.splice(0, late);
    this.#counts.unused += late;
  }

  /** Drops all start times as void. */
  clear(): void {
    this.#startsMs = [];
  }

  /**
   * Takes the start times of an exchange, which knew of the counts `before`. Start times used since
   * then are not available again.
   *
   * @param startsMs none when all of them are void already
   * @param kept how many of the start times were held before
   */
  renew(startsMs: readonly number[], kept: number, before: StartCounts): void {
    for (const kind of ['used', 'unused', 'heldUp'] as const) this.#counts[kind] -= before[kind];
    this.#startsMs = startsMs.slice(Math.min(this.#counts.used + this.#counts.unused, kept));
  }
}

/**
 * What a worker has to report about its calls at the next exchange, in the time of this process.
 */
export interface CallNews {
  readonly events: readonly EndedCall[];
  readonly verdicts: readonly Verdict[];
}

/** While the state cannot be reached, no more than this many are kept. The latest say most. */
const MOST_KEPT = 20_000;

/** Keeps the news of calls until the next exchange. */
export class CallNewsBox {
  #events: EndedCall[] = [];
  #verdicts: Verdict[] = [];
  #latest = { startMs: 0, atMs: Number.POSITIVE_INFINITY };

  get isEmpty(): boolean {
    return this.#events.length === 0 && this.#verdicts.length === 0;
  }

  /** Whether other workers must know of it at once. */
  get isUrgent(): boolean {
    const isThrottled = this.#events.some(({ kind }) => kind === 'throttled');
    return isThrottled || this.#verdicts.some(({ retryAfterMs = 0 }) => retryAfterMs > 0);
  }

  /** A call that was booked for `startMs`, in the time of the state, starts now, at `atMs`. */
  noteStart(startMs: number, atMs: number): void {
    this.#latest = { startMs, atMs };
  }

  addEvent(event: EndedCall): void {
    this.#events.push(event);
    if (this.#events.length > MOST_KEPT) this.#events.shift();
  }

  addVerdict(verdict: Verdict): void {
    this.#verdicts.push(verdict);
    if (this.#verdicts.length > MOST_KEPT) this.#verdicts.shift();
  }

  take(): CallNews {
    const news = { events: this.#events, verdicts: this.#verdicts };
    this.#events = [];
    this.#verdicts = [];
    return news;
  }

  /** Keeps news that could not be reported, before news that came since. */
  keep({ events, verdicts }: CallNews): void {
    this.#events = [...events, ...this.#events].slice(-MOST_KEPT);
    this.#verdicts = [...verdicts, ...this.#verdicts].slice(-MOST_KEPT);
  }

  /** The news in the time of the state, which is ahead of that of this process by `aheadMs`. */
  inSharedTime({ events, verdicts }: CallNews, aheadMs: number): CallNews {
    return {
      events: events.map((event) => ({ ...event, ...this.#timesOf(event, aheadMs) })),
      verdicts: verdicts.map((verdict) => ({ ...verdict, ...this.#timesOf(verdict, aheadMs) })),
    };
  }

  /**
   * Clocks cannot be compared to the millisecond, but a call was not sent before its start time.
   */
  #timesOf({ sentAtMs, endedAtMs }: CallTimes, aheadMs: number): CallTimes {
    const { startMs, atMs } = this.#latest;
    const earliestMs = sentAtMs >= atMs ? startMs : Number.NEGATIVE_INFINITY;
    const sentSharedMs = Math.max(sentAtMs + aheadMs, earliestMs);
    return { sentAtMs: sentSharedMs, endedAtMs: Math.max(endedAtMs + aheadMs, sentSharedMs) };
  }
}

type CallTimes = Pick<Verdict, 'sentAtMs' | 'endedAtMs'>;
