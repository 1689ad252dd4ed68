import type { EndedCall, Verdict } from './worker-news.ts';

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
