import { startHeartbeat } from '../../common/owner.ts';
import {
  createOutageState,
  describeOutage,
  makeProbeDue,
  type OutageState,
} from '../../guard/outage.ts';
import type { Clock } from '../clock.ts';
import type { PaceEvent } from '../pace-state.ts';
import { createPaceState, describePace, type PaceDescription, type PaceState } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import { documentedState, warmState } from '../remembered.ts';

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

const VERSION = 3;
/** A worker that did not come for this long is gone, and its permits are free. */
const GONE_AFTER_MS = 3_000;
/** After a pause this long, other clients may have used the limit, and old slots are invalid. */
const PAUSE_MS = 60_000;

interface ReadOptions {
  readonly nowMs: number;
  /** A fixed rate. */
  readonly rate: Rate | undefined;
  /** The documented rate of an API of which nothing was learned yet. @default none */
  readonly startRate?: Rate | undefined;
}

/** Reads a stored state. One that is malformed or of another version makes a cold start. */
export function readSharedPace(
  json: string | undefined,
  { nowMs, rate, startRate }: ReadOptions,
): SharedPace {
  const shared = parse(json ?? '');
  if (!shared) {
    const isDocumented = rate === undefined && startRate !== undefined;
    return {
      v: VERSION,
      pace: isDocumented ? documentedState(startRate, nowMs) : createPaceState({ rate }, nowMs),
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

/**
 * Where workers with the same credential store what they know of its limit. Each worker reads the
 * state, takes its step, and writes it back if no other worker has done so meanwhile.
 */
export interface StoredState {
  /** @throws when it cannot be reached. Nothing is then known, and no call may start. */
  read(): Promise<Reading>;
  /** @returns the state that another worker wrote first; undefined when this step was written */
  write(step: { readonly version: number; readonly state: string }): Promise<Reading | undefined>;
}

export interface Reading {
  /** The clock of the server that stores it, in milliseconds. */
  readonly nowMs: number;
  readonly version: number;
  /** JSON; undefined before the first step. */
  readonly state: string | undefined;
}

/** The report of a worker when it comes for start times. All times are of the shared clock. */
export interface WorkerNews {
  readonly worker: string;
  readonly callers: number;
  /** When its calls in flight were sent, ascending. */
  readonly sentAtMs: readonly number[];
  /** Callers that wait for a start. */
  readonly waiting: number;
  /**
   * Whether calls were made since the last exchange. All its callers will then want to make some.
   */
  readonly isBusy: boolean;
  /** Start times that it still holds, ascending. */
  readonly startsMs: readonly number[];
  /** Whether its callers used all start times that the rate allowed. */
  readonly hasUsedAll: boolean;
  /** The calls that ended since the last exchange. */
  readonly events: readonly EndedCall[];
  readonly verdicts: readonly Verdict[];
  /** True when it will not come again. */
  readonly isLeaving: boolean;
}

export type EndedCall = PaceEvent & { readonly endedAtMs: number };

/** The evidence of a call on the health of the API. */
export interface Verdict {
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly isFailure: boolean;
  /** Whether the answer was 503. */
  readonly isRefused?: boolean | undefined;
  /** How long the API said to wait, with a failure. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the call got no connection at all. */
  readonly isUnreached?: boolean | undefined;
}

/** The pace of all workers, as of a moment ago. */
export interface SharedPaceWatch {
  /** Undefined until the pace was read for the first time. */
  describe(): PaceDescription | undefined;
  /** How long no call may start, in milliseconds. */
  waitMs(): number;
  /** The state of an outage in a sentence; undefined when there is none. */
  describeOutage(): string | undefined;
  /** Reads the pace now. Never throws. */
  look(): Promise<void>;
  close(): void;
}

export interface SharedPaceWatchOptions {
  readonly stored: Pick<StoredState, 'read'>;
  /** The fixed rate of all workers, if they have one. */
  readonly rate: Rate | undefined;
  readonly clock: Clock;
  /** How often the pace is read. @default 1000 ms */
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;

/**
 * Reads the pace that all workers keep, without taking part: what a process learns that makes no
 * calls itself, or none any more.
 */
export function watchSharedPace(options: SharedPaceWatchOptions): SharedPaceWatch {
  const { stored, rate, clock, everyMs = EVERY_MS } = options;
  let known: SharedPace | undefined;
  let aheadMs = 0;

  async function look(): Promise<void> {
    try {
      const { nowMs, state } = await stored.read();
      aheadMs = nowMs - clock.nowMs();
      // No worker has made a call yet, so nothing is known.
      known = state === undefined ? undefined : readSharedPace(state, { nowMs, rate });
    } catch {
      // The state cannot be reached. The last one read is kept.
    }
  }

  const sharedNowMs = (): number => clock.nowMs() + aheadMs;
  const heartbeat = startHeartbeat(everyMs, look);
  return {
    describe: () => known && describePace(known.pace, sharedNowMs()),
    waitMs: () => (known ? describePace(known.pace, sharedNowMs()).waitMs : 0),
    describeOutage: () => known && describeOutage(known.outage, sharedNowMs()),
    look,
    close: heartbeat.close,
  };
}
