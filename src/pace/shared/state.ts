import { createOutageState, makeProbeDue, type OutageState } from '../../guard/outage.ts';
import { createPaceState, type PaceState } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import { warmState } from '../warm-start.ts';

/** The state that workers with the same credential share: plain data that survives JSON. */
export interface SharedPace {
  readonly v: typeof VERSION;
  pace: PaceState;
  readonly outage: OutageState;
  /** Workers that came recently, by name. */
  readonly workers: Record<string, WorkerShare>;
}

/** The share of one worker in the limits, as of its last exchange. */
export interface WorkerShare {
  seenMs: number;
  /** The most calls that it makes at the same time. */
  callers: number;
  /** Calls in flight. */
  inFlight: number;
  /** Calls that it could have in flight. */
  wanted: number;
  /** Start times that it holds. */
  starts: number;
  /** How many calls it may have in flight; null without a bound. */
  permits: number | null;
  /** The cut of the last throttle that it knows of. */
  cutMs: number;
  /** Absent in the state of an older version. */
  health?: WorkerHealth | undefined;
}

/** How the calls of one worker went of late: an average in which the last ten weigh most. */
export interface WorkerHealth {
  calls: number;
  failures: number;
  /** When the last of them ended. */
  atMs: number;
  /** Since when half of them or more fail; null while fewer do. */
  failingSinceMs: number | null;
}

const VERSION = 2;
/** A worker that did not come for this long is gone, and its permits are free. */
const GONE_AFTER_MS = 3_000;
/** After a pause this long, other clients may have used the limit, and old slots are invalid. */
const PAUSE_MS = 60_000;

/** Reads a stored state. One that is malformed or of another version makes a cold start. */
export function readSharedPace(
  json: string | undefined,
  { nowMs, rate }: { readonly nowMs: number; readonly rate: Rate | undefined },
): SharedPace {
  const shared = json === undefined ? undefined : parse(json);
  if (!shared) {
    return {
      v: VERSION,
      pace: createPaceState({ rate }, nowMs),
      outage: createOutageState(),
      workers: {},
    };
  }
  for (const [name, { seenMs }] of Object.entries(shared.workers)) {
    // A time in the future means that the clock was set back. A worker that is alive comes again at
    // once.
    if (Math.abs(nowMs - seenMs) > GONE_AFTER_MS) delete shared.workers[name];
  }
  const pausedMs = nowMs - shared.pace.latestMs;
  const isFirst = Object.keys(shared.workers).length === 0;
  if (isFirst && pausedMs > PAUSE_MS && !shared.pace.fixed) {
    shared.pace = warmState(shared.pace, nowMs, pausedMs);
  }
  // The worker that held the probe is gone.
  if (isFirst) makeProbeDue(shared.outage);
  return shared;
}

function parse(json: string): SharedPace | undefined {
  try {
    const value = JSON.parse(json) as Partial<SharedPace>;
    const isWhole = value.v === VERSION && value.pace && value.outage && value.workers;
    if (!isWhole) return undefined;
    // An older version stored less.
    const { pace, outage } = value as SharedPace;
    return {
      ...(value as SharedPace),
      pace: { ...createPaceState({}, pace.latestMs), ...pace },
      outage: { ...createOutageState(), ...outage },
    };
  } catch {
    return undefined;
  }
}
