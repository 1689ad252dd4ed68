import type { Rate } from './rate.ts';

/** What keeps a fixed rate: plain data. */
export interface FixedRate {
  readonly rate: Rate;
  /** Where the last call stands in an evenly spaced row of starts; null before the first. */
  lastSlotMs: number | null;
  /** When the last calls started, as a ring. */
  recentStartsMs: number[];
  /** The oldest entry of the ring, the next to be overwritten. */
  oldestStart: number;
  /** Throttles in a row that came without a wait told. */
  throttlesInARow: number;
}

/** Longest ring of starts. A longer one would wander through every saved state and lease. */
const MOST_STARTS = 256;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;

export function createFixedRate(rate: Rate): FixedRate {
  return { rate, lastSlotMs: null, recentStartsMs: [], oldestStart: 0, throttlesInARow: 0 };
}

/** The earliest start that keeps the rate; -Infinity when nothing started yet. */
export function nextFixedStartMs(fixed: FixedRate): number {
  const { rate, lastSlotMs, recentStartsMs, oldestStart } = fixed;
  if (lastSlotMs === null) return Number.NEGATIVE_INFINITY;
  // Evenly spaced, so that a rate per minute is not spent in its first second…
  const spacedMs = lastSlotMs + intervalMsOf(rate);
  // …and counted, because a timer that fires late is caught up with by the calls after it.
  const { starts, perMs } = countedWindow(rate);
  if (recentStartsMs.length < starts) return spacedMs;
  return Math.max(spacedMs, (recentStartsMs[oldestStart] ?? Number.NEGATIVE_INFINITY) + perMs);
}

export function bookFixed(fixed: FixedRate, atMs: number): void {
  const intervalMs = intervalMsOf(fixed.rate);
  // After a pause the row of slots starts anew; a late timer of less than an interval keeps it.
  fixed.lastSlotMs =
    fixed.lastSlotMs === null ? atMs : Math.max(fixed.lastSlotMs + intervalMs, atMs - intervalMs);
  fixed.recentStartsMs[fixed.oldestStart] = atMs;
  fixed.oldestStart = (fixed.oldestStart + 1) % countedWindow(fixed.rate).starts;
}

/** The next untold wait: between half and all of 0.5 s, 1 s, 2 s, … 60 s. */
export function nextBackoffMs(fixed: FixedRate, random: number): number {
  const longestMs = Math.min(FIRST_BACKOFF_MS * 2 ** fixed.throttlesInARow, LONGEST_BACKOFF_MS);
  fixed.throttlesInARow += 1;
  return longestMs * (0.5 + random / 2);
}

function intervalMsOf({ count, perMs }: Rate): number {
  return perMs / count;
}

/**
 * How many starts are counted in which window. Large rates are counted in an equal part of their
 * window; where they cannot be divided evenly, up to one call in 128 is given away.
 */
function countedWindow({ count, perMs }: Rate): { starts: number; perMs: number } {
  if (count <= MOST_STARTS) {
    const starts = Math.ceil(count);
    return { starts, perMs: (starts * perMs) / count };
  }
  const parts = Math.ceil(count / MOST_STARTS);
  return { starts: Math.floor(count / parts), perMs: perMs / parts };
}
