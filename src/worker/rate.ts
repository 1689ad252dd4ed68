import type { Rate } from '../calls/rate.ts';

/**
 * A fixed rate: plain data. Starts are spaced evenly, so that a rate per minute is not used up in
 * its first second; they are also counted, because calls after a late timer catch up with it.
 */
export interface FixedRate {
  readonly rate: Rate;
  /** The slot of the last call in an evenly spaced row of starts. */
  lastSlotMs: number;
  /** When the latest calls started, as a ring, and its oldest entry, the next to be overwritten. */
  recentStartsMs: number[];
  oldestStart: number;
}

/** The longest ring of starts. */
export const MOST_STARTS = 256;
/** Timers of a busy process are late by so much. */
const LATE_MS = 20;
const LONG_AGO_MS = -1e15; // plain data, as JSON has no infinity

/** @param startsMs when earlier calls started that still count, ascending */
export function createFixedRate(rate: Rate, startsMs: readonly number[] = []): FixedRate {
  const fixed = { rate, lastSlotMs: LONG_AGO_MS, recentStartsMs: [], oldestStart: 0 };
  for (const startMs of startsMs) bookFixed(fixed, startMs);
  return fixed;
}

/** The earliest start that keeps the rate. */
export function nextFixedStartMs(fixed: FixedRate): number {
  const { rate, lastSlotMs, recentStartsMs, oldestStart } = fixed;
  const oldestMs = recentStartsMs[oldestStart] ?? LONG_AGO_MS;
  return Math.max(lastSlotMs + rate.perMs / rate.count, oldestMs + countedWindow(rate).perMs);
}

export function bookFixed(fixed: FixedRate, atMs: number): void {
  const gapMs = fixed.rate.perMs / fixed.rate.count;
  const slotMs = fixed.lastSlotMs + gapMs;
  // A timer that is late keeps the row; after a pause it starts anew, with one call.
  const isLate = atMs - slotMs < Math.max(gapMs, LATE_MS);
  fixed.lastSlotMs = isLate ? slotMs : atMs;
  fixed.recentStartsMs[fixed.oldestStart] = atMs;
  fixed.oldestStart = (fixed.oldestStart + 1) % countedWindow(fixed.rate).starts;
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
