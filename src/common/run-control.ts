import { unlessAborted } from './lifetime.ts';

/** Steers a run in progress from another part of the same process. */
export interface RunControl {
  /** Whether no new call may start. */
  readonly isPaused: boolean;
  /** Fires when the run is to stop. */
  readonly stopped: AbortSignal;
  /** Lets no new call start. Calls under way end normally. */
  pause(): void;
  /** Lets calls start again. */
  resume(): void;
  /**
   * Stops the run in order, as Ctrl-C does: all rows are written, those not asked as `skipped`.
   * Before the first call it ends the run with an `AbortError`.
   */
  stop(): void;
  /**
   * Waits while the run is paused.
   *
   * @throws the signal's reason when it fires first
   */
  whileOpen(signal: AbortSignal): Promise<void>;
  /** Calls `listener` on each change. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/**
 * Creates the control of one run, to be passed to it as `control`.
 *
 * @example
 * ```ts
 * const control = createRunControl();
 * const summary = enrich({ input: 'accounts.csv', control });
 * control.pause();
 * ```
 */
export function createRunControl(): RunControl {
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  const change = createChange();
  let isPaused = false;
  const notify = (): void => {
    for (const listener of listeners) listener();
    change.notify();
  };
  const setPaused = (paused: boolean): void => {
    if (paused === isPaused || stopping.signal.aborted) return;
    isPaused = paused;
    notify();
  };
  return {
    get isPaused() {
      return isPaused;
    },
    stopped: stopping.signal,
    pause: () => setPaused(true),
    resume: () => setPaused(false),
    stop: () => {
      if (stopping.signal.aborted) return;
      setPaused(false); // callers that wait see that it is stopped
      stopping.abort();
      notify();
    },
    whileOpen: async (signal) => {
      signal.throwIfAborted();
      while (isPaused) await unlessAborted(change.wait(), signal);
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Lets callers wait for a change. A caller that wakes up checks whether it concerns it. */
export function createChange() {
  let wakeAll: (() => void)[] = [];
  return {
    wait: () => new Promise<void>((resolve) => wakeAll.push(resolve)),
    notify: (): void => {
      const sleepers = wakeAll;
      wakeAll = [];
      for (const wake of sleepers) wake();
    },
  };
}
