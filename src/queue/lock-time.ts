/** The time after which BullMQ gives a job of a silent process to others. */
export const LOCK_MS = 15_000;
