import type { WorkerNews } from './worker-news.ts';

/** The most start times that a worker holds. */
export const MOST_STARTS = 4_000;

/** The starts that are booked for a worker in its exchange. */
export interface Booking {
  readonly news: WorkerNews;
  /** The booked start times are added here. */
  readonly startsMs: number[];
  readonly nowMs: number;
  readonly untilMs: number;
}

/** A booking for a worker with a bound on its calls in flight. */
export interface PermittedBooking extends Booking {
  readonly permits: number;
}
