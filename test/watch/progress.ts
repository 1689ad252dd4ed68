import type { Progress } from '../../src/watch/events.ts';

/** A run that has made no lookup yet. */
export const PROGRESS: Progress = {
  due: 1_000,
  lookups: 0,
  outcomes: { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 },
  calls: 0,
  retries: 0,
  throttled: 0,
  lookupMs: 0,
  underWay: 0,
  pendingNow: 0,
};
