import { type Job, paceIdOf } from '../../options/api.ts';
import type { Clock } from '../../pace/clock.ts';
import { openIfTooLong, type PaceState, warmState } from '../../pace/pacer.ts';
import { documentedState, resumeFixedRate } from '../../pace/remembered.ts';
import type { OutcomeStore } from '../../store/store.ts';

/** Passes the pace on from one run to the next, in the store. */
export interface PaceMemory {
  /** The first state: what the last run knew, as far as it is still valid, or else a new state. */
  readonly start: PaceState;
  /** Saves a state with the present time. */
  save(state: PaceState): Promise<void>;
}

export interface PaceMemoryOptions {
  readonly job: Pick<Job, 'endpoint' | 'credential' | 'settings'>;
  readonly store: Pick<OutcomeStore, 'findPace' | 'savePace'>;
  /** The clock of the states. */
  readonly clock: Clock;
  /**
   * Whether a user tries a single domain. A wait stated before is then reported, not skipped.
   * @default false
   */
  readonly isTrial?: boolean;
  /** Milliseconds since 1970. The clock of a state begins anew with each process. */
  readonly now: () => number;
}

/**
 * Reads the saved pace for the API, credential and rate of a job. Never throws for an invalid one.
 */
export function openPaceMemory({
  job,
  store,
  clock,
  isTrial = false,
  now,
}: PaceMemoryOptions): PaceMemory {
  const id = paceIdOf(job);
  const { rate, maxWait } = job.settings;
  const startRate = job.endpoint.profile?.startRate;
  const nowMs = clock.nowMs();
  const wallMs = now();
  const saved = store.findPace(id);
  const savedAgeMs = wallMs - (saved?.savedAtMs ?? wallMs);
  const start =
    rate === 'auto'
      ? saved === undefined && startRate
        ? documentedState(startRate, nowMs)
        : warmState(saved?.state, nowMs, savedAgeMs, wallMs - (saved?.learnedAtMs ?? wallMs))
      : resumeFixedRate(saved?.state, { rate, nowMs, savedAgeMs });
  if (!isTrial) openIfTooLong(start, nowMs, maxWait);
  const startLimitPerMs = start.estimate.limitPerMs;

  /** A run of a few calls never reached the limit. The limit it started with then keeps its age. */
  function isLearned({ estimate, published }: PaceState): boolean {
    const { limitPerMs } = estimate;
    return limitPerMs === 0 || limitPerMs !== startLimitPerMs || published.isTrusted;
  }

  return {
    start,
    save: async (state) => {
      const savedAtMs = now();
      const learnedAtMs = isLearned(state) ? savedAtMs : (saved?.learnedAtMs ?? savedAtMs);
      await store.savePace(id, { state, savedAtMs, learnedAtMs });
    },
  };
}

/** Saves the pace of a run regularly. That a store cannot be written is told by the store itself. */
export interface PaceSaver {
  /** Saves it now. */
  save(): Promise<void>;
  /** Stops saving. */
  stop(): void;
}

/** A killed process loses what it has learned since the last save. */
const SAVE_EVERY_MS = 2_000;

/** @param snapshot returns the present state; undefined while there is nothing to save */
export function savePaceOften(
  memory: PaceMemory,
  snapshot: () => PaceState | undefined,
): PaceSaver {
  async function save(): Promise<void> {
    const state = snapshot();
    if (state) await memory.save(state).catch(() => {});
  }

  const timer = setInterval(() => void save(), SAVE_EVERY_MS);
  return { save, stop: () => clearInterval(timer) };
}
