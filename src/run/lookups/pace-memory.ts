import type { Job } from '../../job/job.ts';
import { paceIdOf } from '../../job/pace-id.ts';
import type { Clock } from '../../pace/clock.ts';
import { openIfTooLong, type PaceState, warmState } from '../../pace/pacer.ts';
import { resumeFixedRate } from '../../pace/resume-fixed-rate.ts';
import type { OutcomeStore } from '../../store/store.ts';

/** What one run leaves to the next about the pace, in the store. */
export interface PaceMemory {
  /** The state to start with: what the last run knew, as far as that is still good; else a new one. */
  readonly start: PaceState;
  /** Saves a state, and when that was. */
  save(state: PaceState): Promise<void>;
}

export interface PaceMemoryOptions {
  readonly job: Pick<Job, 'endpoint' | 'credential' | 'settings'>;
  readonly store: Pick<OutcomeStore, 'findPace' | 'savePace'>;
  /** The clock of the states. */
  readonly clock: Clock;
  /** Whether somebody tries a domain, who rather hears of a wait that was told before. @default false */
  readonly isTrial?: boolean;
  /** Milliseconds since 1970: the clock of a state begins anew with each process. */
  readonly now: () => number;
}

/** Reads what was saved for the API, credential and rate of a job. Never fails for what it finds. */
export function openPaceMemory({
  job,
  store,
  clock,
  isTrial = false,
  now,
}: PaceMemoryOptions): PaceMemory {
  const id = paceIdOf(job);
  const { rate, maxWait } = job.settings;
  const nowMs = clock.nowMs();
  const wallMs = now();
  const saved = store.findPace(id);
  const savedAgeMs = wallMs - (saved?.savedAtMs ?? wallMs);
  const start =
    rate === 'auto'
      ? warmState(saved?.state, nowMs, savedAgeMs, wallMs - (saved?.learnedAtMs ?? wallMs))
      : resumeFixedRate(saved?.state, { rate, nowMs, savedAgeMs });
  if (!isTrial) openIfTooLong(start, nowMs, maxWait);
  const startLimitPerMs = start.estimate.limitPerMs;

  /** A run of a few calls never met the limit: what it was given does not become younger by it. */
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

/** Saves the pace of a run again and again. */
export interface PaceSaver {
  /** Saves it now. */
  save(): Promise<void>;
  /** Rejects when it cannot be saved, and never resolves. */
  readonly failed: Promise<never>;
  /** Saves no more. */
  stop(): void;
}

/** What a killed process has learned since is lost. */
const SAVE_EVERY_MS = 2_000;

/** @param snapshot the state as it is; undefined while there is nothing to save */
export function savePaceOften(
  memory: PaceMemory,
  snapshot: () => PaceState | undefined,
): PaceSaver {
  let fail: (error: unknown) => void;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {}); // also when nobody asks

  async function save(): Promise<void> {
    const state = snapshot();
    if (state) await memory.save(state);
  }

  const timer = setInterval(() => {
    save().catch((error: unknown) => fail(error));
  }, SAVE_EVERY_MS);
  return { save, failed, stop: () => clearInterval(timer) };
}
