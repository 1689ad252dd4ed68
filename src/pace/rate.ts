/** At most `count` calls in any `perMs` milliseconds. */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** The state of a fixed rate: plain data. */
export interface FixedRate {
  readonly rate: Rate;
  /** The slot of the last call in an evenly spaced row of starts; null before the first. */
  lastSlotMs: number | null;
  /** When the latest calls started, as a ring. */
  recentStartsMs: number[];
  /** The oldest entry of the ring, the next to be overwritten. */
  oldestStart: number;
  /** Throttles in a row without a stated wait. */
  throttlesInARow: number;
}

/** The longest ring of starts. A longer one would make every saved state and lease large. */
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
  // Starts are spaced evenly, so that a rate per minute is not used up in its first second.
  const spacedMs = lastSlotMs + intervalMsOf(rate);
  // They are also counted, because the calls after a late timer catch up with it.
  const oldestMs = recentStartsMs[oldestStart] ?? Number.NEGATIVE_INFINITY;
  return Math.max(spacedMs, oldestMs + countedWindow(rate).perMs);
}

export function bookFixed(fixed: FixedRate, atMs: number): void {
  const intervalMs = intervalMsOf(fixed.rate);
  // After a pause the row of slots starts anew. A timer that is late by less than an interval keeps
  // it.
  fixed.lastSlotMs =
    fixed.lastSlotMs === null ? atMs : Math.max(fixed.lastSlotMs + intervalMs, atMs - intervalMs);
  fixed.recentStartsMs[fixed.oldestStart] = atMs;
  fixed.oldestStart = (fixed.oldestStart + 1) % countedWindow(fixed.rate).starts;
}

/** The next backoff without a stated wait: between half and all of 0.5 s, 1 s, 2 s, … 60 s. */
export function nextBackoffMs(fixed: FixedRate, random: number): number {
  const longestMs = Math.min(FIRST_BACKOFF_MS * 2 ** fixed.throttlesInARow, LONGEST_BACKOFF_MS);
  fixed.throttlesInARow += 1;
  return longestMs * (0.5 + random / 2);
}

function intervalMsOf({ count, perMs }: Rate): number {
  return perMs / count;
}

/**
 * How many starts are counted in which window. A large rate is counted in an equal part of its
 * window. If it does not divide evenly, up to one call in 128 is given up.
 */
function countedWindow({ count, perMs }: Rate): { starts: number; perMs: number } {
  if (count <= MOST_STARTS) {
    const starts = Math.ceil(count);
    return { starts, perMs: (starts * perMs) / count };
  }
  const parts = Math.ceil(count / MOST_STARTS);
  return { starts: Math.floor(count / parts), perMs: perMs / parts };
}
