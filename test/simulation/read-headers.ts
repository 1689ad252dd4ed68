import { findLimits, type Reading } from '../../src/brand/limit-headers/find-limits.ts';
import { createServerClock } from '../../src/brand/limit-headers/time.ts';
import { createWindowFinder } from '../../src/brand/limit-headers/window-finder.ts';
import type { PaceEvent } from '../../src/pace/pace-state.ts';

/** What our clock shows at the time 0 of a simulation. */
export const OUR_EPOCH_MS: number = Date.UTC(2026, 10, 20);

/** What a client finds out about a server from the headers of its answers. */
export type Findings = Pick<Reading, 'clock' | 'windows'>;

/** Those of a client that has had no answer yet. */
export function createFindings(): Findings {
  return { clock: createServerClock(), windows: createWindowFinder() };
}

/** What the client makes of an answer's headers. */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  { sentAtMs, nowMs, findings }: { sentAtMs: number; nowMs: number; findings: Findings },
): Pick<PaceEvent, 'retryAfterMs' | 'limits'> {
  const { limits } =
    findLimits(headers, {
      ...findings,
      date: headers['date'],
      sentMs: OUR_EPOCH_MS + sentAtMs,
      nowMs: OUR_EPOCH_MS + nowMs,
    }) ?? {};
  return { limits, retryAfterMs: limits?.remaining ? undefined : limits?.resetMs };
}
