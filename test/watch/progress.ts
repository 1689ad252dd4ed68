import { NO_LOOKUP, type Progress } from '../../src/watch/events.ts';

/** A run that has made no lookup yet. */
export const PROGRESS: Progress = { ...NO_LOOKUP, due: 1_000 };
