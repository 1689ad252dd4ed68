import type { WorkerNews } from './worker-news.ts';

/** A worker holds so many start times at most. */
export const MOST_STARTS = 4_000;

/** What is booked for a worker that has come. */
export interface Booking {
  readonly news: WorkerNews;
  /** Grows by what is booked. */
  readonly startsMs: number[];
  readonly nowMs: number;
  readonly untilMs: number;
}

/** The same for one that may have so many calls in flight. */
export interface PermittedBooking extends Booking {
  readonly permits: number;
}
