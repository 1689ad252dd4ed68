import type { Progress } from './events.ts';
import { createRecentRate } from './recent-rate.ts';

/** Estimates how long the lookups of a run still take. */
export interface TimeLeft {
  look(progress: Progress): void;
  /** In milliseconds; undefined while there is nothing to estimate it from. */
  readonly leftMs: number | undefined;
}

/** The rest is assumed to go as fast as the lookups of this much time. */
const WINDOW_MS = 30_000;

/**
 * Goes by the lookups of the last half minute in which calls were let through. A wait counts only
 * with what is left of it: an hour that the API asked to wait does not make everything after it
 * slow.
 */
export function createTimeLeft(): TimeLeft {
  const rate = createRecentRate({ windowMs: WINDOW_MS, longestMs: 2 * WINDOW_MS });
  let workedMs = 0;
  let lookedAtMs = 0;
  let leftMs: number | undefined;
  return {
    look: (progress) => {
      const { lookups, done, elapsedMs, waitMs, outage, pace } = progress;
      const isShut = pace?.why === 'told_to_wait' || pace?.why === 'backing_off';
      const isWaiting = isShut || outage !== undefined || isHeld(progress);
      if (!isWaiting) workedMs += elapsedMs - lookedAtMs;
      lookedAtMs = elapsedMs;
      rate.add({ atMs: workedMs, count: done });
      const { perSecond } = rate;
      const isKnown = perSecond > 0 && !isHeld(progress);
      leftMs = isKnown ? ((lookups - done) / perSecond) * 1_000 + waitMs : undefined;
    },
    get leftMs() {
      return leftMs;
    },
  };
}

/** Whether calls are held up for an unknown time. */
function isHeld({ isPaused, heldBy }: Progress): boolean {
  return isPaused === true || heldBy === 'no_worker' || heldBy === 'another_run';
}
