import type { OutcomeHead } from './outcome-codec.ts';

/** How long outcomes count, in milliseconds. */
export interface Freshness {
  /** Of `found`. */
  readonly foundMs: number;
  /** Of `not_found` and `rejected`. */
  readonly notFoundMs: number;
}

/**
 * Whether an outcome need not be asked again by a run that started at `startedAtMs`. What this run
 * fetched itself is always fresh. The time of asking plays no part: a long run sees no outcome
 * expire under its hands.
 */
export function isFresh(
  outcome: Pick<OutcomeHead, 'status' | 'fetchedAtMs'>,
  { foundMs, notFoundMs }: Freshness,
  startedAtMs: number,
): boolean {
  if (outcome.fetchedAtMs >= startedAtMs) return true;
  if (outcome.status === 'failed') return false;
  const maxAgeMs = outcome.status === 'found' ? foundMs : notFoundMs;
  return startedAtMs - outcome.fetchedAtMs < maxAgeMs;
}
