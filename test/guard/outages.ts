import {
  createOutageState,
  mayStart,
  type OutageState,
  onCallEnd,
  onProbeStart,
} from '../../src/guard/outage.ts';

/** For `mayStart`: nobody is calling, and a hundred would like to. */
export const CALLERS = { inFlight: 0, callers: 100 };

/** Reports calls that take no time. */
export function end(state: OutageState, nowMs: number, isFailure: boolean, count = 1): void {
  for (let call = 0; call < count; call += 1)
    onCallEnd(state, { isFailure, sentAtMs: nowMs, nowMs });
}

/** A state in which the API has just gone. */
export function openAt(nowMs: number): OutageState {
  const state = createOutageState();
  end(state, nowMs, true, 20);
  return state;
}

/** Probes as soon as that is allowed, and returns when that was. */
export function probe(state: OutageState, nowMs: number, isFailure: boolean): number {
  const advice = mayStart(state, { nowMs, ...CALLERS });
  if (advice === 'wait') throw new Error('a probe is under way');
  onProbeStart(state, advice.atMs);
  end(state, advice.atMs, isFailure);
  return advice.atMs;
}
