import type { Settings } from '../job/settings.ts';
import { type Dated, type Freshness, isFresh } from '../store/freshness.ts';

/** The settings that decide which outcomes still count. */
export type FreshnessSettings = Pick<
  Settings,
  'fresh' | 'freshNotFound' | 'freshRejected' | 'freshJitter' | 'refresh' | 'onlyMissing'
>;

/**
 * Creates a check of whether the outcome of a domain counts in the run that started at
 * `startedAtMs`.
 *
 * @param now the present time of the run
 */
export function createFreshnessCheck(
  settings: FreshnessSettings,
  startedAtMs: number,
  now: () => number,
): (domain: string, outcome: Dated) => boolean {
  const freshness = freshnessOf(settings);
  return (domain, outcome) => isFresh(domain, outcome, { freshness, startedAtMs, nowMs: now() });
}

function freshnessOf(settings: FreshnessSettings): Freshness {
  const { refresh, onlyMissing, fresh, freshNotFound, freshRejected, freshJitter } = settings;
  if (refresh) return NOTHING_COUNTS;
  if (onlyMissing) return { ...NOTHING_COUNTS, foundMs: Number.POSITIVE_INFINITY };
  const durations = { foundMs: fresh, notFoundMs: freshNotFound, rejectedMs: freshRejected };
  return { ...durations, jitter: freshJitter };
}

const NOTHING_COUNTS: Freshness = { foundMs: 0, notFoundMs: 0, rejectedMs: 0, jitter: 0 };
