import type { Progress } from '../../src/watch/events.ts';

/** A run that has made no lookup yet. */
export const PROGRESS: Progress = {
  lookups: 1_000,
  done: 0,
  outcomes: { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 },
  calls: 0,
  retries: 0,
  throttled: 0,
  elapsedMs: 0,
  waitMs: 0,
};
