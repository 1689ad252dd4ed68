import { findLimits } from '../../src/brand/limits.ts';
import type { PacedCall } from '../../src/worker/pace.ts';

/** What our clock shows at the time 0 of a simulation. */
export const OUR_EPOCH_MS: number = Date.UTC(2026, 10, 20);

/** What the client makes of an answer's headers. */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): Pick<PacedCall, 'retryAfterMs' | 'limits'> {
  const { limits } = findLimits(headers, OUR_EPOCH_MS + nowMs) ?? {};
  return { limits, retryAfterMs: limits?.remaining ? undefined : limits?.resetMs };
}
