import { findLimits } from '../../src/brand/limit-headers/find-limits.ts';
import type { ServerClock } from '../../src/brand/limit-headers/server-clock.ts';
import type { PaceEvent } from '../../src/pace/pace-event.ts';

/** What our clock shows at the time 0 of a simulation. */
export const OUR_EPOCH_MS: number = Date.UTC(2026, 10, 20);

/** What the client makes of an answer's headers. */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  { sentAtMs, nowMs, clock }: { sentAtMs: number; nowMs: number; clock: ServerClock },
): Pick<PaceEvent, 'retryAfterMs' | 'limits'> {
  const { limits } =
    findLimits(headers, {
      date: headers['date'],
      sentMs: OUR_EPOCH_MS + sentAtMs,
      nowMs: OUR_EPOCH_MS + nowMs,
      clock,
    }) ?? {};
  return { limits, retryAfterMs: limits?.remaining ? undefined : limits?.resetMs };
}
