import type { Job } from '../job/job.ts';
import { paceIdOf } from '../job/pace-id.ts';
import { describePace, openIfTooLong, warmState } from '../pace/pacer.ts';
import { resumeFixedRate } from '../pace/remembered.ts';
import type { PlanEstimate } from '../producer/plan.ts';
import type { OutcomeStore } from '../store/store.ts';

export interface EstimateOptions {
  readonly job: Pick<Job, 'endpoint' | 'credential' | 'settings'>;
  readonly store: Pick<OutcomeStore, 'findPace'>;
  readonly calls: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Estimates how long calls take at the limit known so far: the given rate, or else the limit that
 * the last run with this API and credential found, however long ago. The shared state of workers on
 * a queue is not read.
 */
export function estimateCalls(options: EstimateOptions): PlanEstimate | undefined {
  const { job, store, calls, nowMs } = options;
  const { rate, queue, workers, maxWait } = job.settings;
  const isShared = queue !== undefined;
  if (workers === 0 || (isShared && rate === 'auto')) return undefined;
  const saved = isShared ? undefined : store.findPace(paceIdOf(job));
  const savedAgeMs = nowMs - (saved?.savedAtMs ?? nowMs);
  const state =
    rate === 'auto'
      ? warmState(saved?.state, 0, savedAgeMs, 0)
      : resumeFixedRate(saved?.state, { rate, nowMs: 0, savedAgeMs });
  openIfTooLong(state, 0, maxWait);
  const { limitIs, learnedLimitPerSecond, ratePerSecond, waitMs } = describePace(state, 0);
  const limitPerSecond = limitIs === 'fixed' ? ratePerSecond : learnedLimitPerSecond;
  if (limitPerSecond === undefined) return undefined;
  return {
    durationMs: calls === 0 ? 0 : waitMs + (calls / limitPerSecond) * 1_000,
    limitPerSecond,
    limitIs: limitIs === 'fixed' ? 'fixed' : 'learned',
  };
}
