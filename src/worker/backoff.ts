/** How long to wait before a lookup is tried again. */
export interface BackoffOptions {
  /** Retries made before this one, from 0. */
  readonly retriesMade: number;
  /** The wait that the server stated, if any. The backoff is never shorter. */
  readonly retryAfterMs: number | undefined;
  /** From 0 to 1. */
  readonly random: number;
}

const BASE_MS = 500;
const LONGEST_MS = 30_000;

/**
 * Full jitter: a random wait from zero up to 0.5 s, 1 s, 2 s, … 30 s, so that lookups that failed
 * together do not come back together.
 *
 * @see {@link https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ Exponential backoff and jitter}
 */
export function backoffMs({ retriesMade, retryAfterMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(BASE_MS * 2 ** retriesMade, LONGEST_MS);
  return Math.max(random * ceilingMs, retryAfterMs ?? 0);
}
