import { createOutageState, makeProbeDue, type OutageState } from '../../guard/outage.ts';
import { createPaceState, type PaceState } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import { warmState } from '../warm-start.ts';

/** What workers that use the same credential know together: plain data that survives JSON. */
export interface SharedPace {
  readonly v: typeof VERSION;
  pace: PaceState;
  readonly outage: OutageState;
  /** Those that were heard of lately, by name. */
  readonly workers: Record<string, WorkerShare>;
}

/** What one worker has of what is shared, as it was told last. */
export interface WorkerShare {
  seenMs: number;
  /** Most calls that it makes at the same time. */
  callers: number;
  /** Calls in flight. */
  inFlight: number;
  /** Calls that it could have in flight. */
  wanted: number;
  /** Start times that it holds. */
  starts: number;
  /** How many calls it may have in flight; null without a bound. */
  permits: number | null;
  /** The last throttle that it knows of. */
  cutMs: number;
}

const VERSION = 2;
/** A worker that was not heard of for so long is gone, with its permits. */
const GONE_AFTER_MS = 3_000;
/** After a pause as long as this, others may have used the limit, and slots of before mean nothing. */
const PAUSE_MS = 60_000;

/** Reads what was written; what is malformed, or of another version, makes a cold start. */
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
    // Seen in a time that is still to come: the clock was set back, and who is alive comes again at once.
    if (Math.abs(nowMs - seenMs) > GONE_AFTER_MS) delete shared.workers[name];
  }
  const pausedMs = nowMs - shared.pace.latestMs;
  const isFirst = Object.keys(shared.workers).length === 0;
  if (isFirst && pausedMs > PAUSE_MS && !shared.pace.fixed) {
    shared.pace = warmState(shared.pace, nowMs, pausedMs);
  }
  // Whoever was to find out whether the API is back has gone.
  if (isFirst) makeProbeDue(shared.outage);
  return shared;
}

function parse(json: string): SharedPace | undefined {
  try {
    const value = JSON.parse(json) as Partial<SharedPace>;
    const isWhole = value.v === VERSION && value.pace && value.outage && value.workers;
    if (!isWhole) return undefined;
    // An older version knew less of outages.
    return { ...(value as SharedPace), outage: { ...createOutageState(), ...value.outage } };
  } catch {
    return undefined;
  }
}
