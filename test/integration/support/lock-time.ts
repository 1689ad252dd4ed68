/**
 * Stands in for `src/queue/lock-time.ts`: tests that kill processes need not wait as long as others
 * do.
 */
export const LOCK_MS = Number(process.env['BRANDFILL_TEST_LOCK_MS'] ?? 15_000);
