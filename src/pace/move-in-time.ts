import type { PaceState } from './pace-state.ts';

/** Moves all times of a state, because its clock was set or because another clock kept it. */
export function moveInTime(state: PaceState, byMs: number): void {
  const { fixed, slots, throttle, throttledRow, measured, concurrency, usedUp } = state;
  if (fixed) {
    if (fixed.lastSlotMs !== null) fixed.lastSlotMs += byMs;
    fixed.recentStartsMs = fixed.recentStartsMs.map((startMs) => startMs + byMs);
  }
  state.latestMs += byMs;
  state.gateUntilMs += byMs;
  if (state.statedUntilMs !== undefined) state.statedUntilMs += byMs;
  slots.nextMs += byMs;
  slots.lastMs += byMs;
  throttledRow.latestMs += byMs;
  for (const time of ['saidAtMs', 'untilMs', 'trialMs'] as const) {
    if (usedUp[time] > 0) usedUp[time] += byMs; // 0 stands for none
  }
  throttle.cutMs += byMs;
  throttle.hitAtMs += byMs;
  if (throttle.acceptedSentMs !== undefined) throttle.acceptedSentMs += byMs;
  for (const span of ['epoch', 'lastEpoch', 'block', 'lastBlock'] as const) {
    measured[span].sinceMs += byMs;
  }
  concurrency.trial.sinceMs += byMs;
  for (const mark of measured.marks) mark[0] += byMs;
}
