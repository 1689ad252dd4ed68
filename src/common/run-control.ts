/** Steers a run while it goes on, from another part of the same process. */
export interface RunControl {
  /** Whether no new call may start. */
  readonly isPaused: boolean;
  /** Fires when the run is to stop. */
  readonly stopped: AbortSignal;
  /** Lets no new call start; those under way end. */
  pause(): void;
  /** Lets calls start again. */
  resume(): void;
  /**
   * Stops the run in order, as Ctrl-C does: all rows come out, those not asked as `skipped`. Before the
   * first call it ends the run with an `AbortError`.
   */
  stop(): void;
  /** Has the domains that failed in this run asked once more, when all others have been asked. */
  retryFailures(): void;
  /** Whether they are to be asked once more; takes the wish away. */
  takeRetry(): boolean;
  /** Whether they are to be asked once more. */
  readonly isRetryWanted: boolean;
  /**
   * Waits while it is paused.
   *
   * @throws the signal's reason when it fires first
   */
  whileOpen(signal: AbortSignal): Promise<void>;
  /** Tells of each change; returns what ends that. */
  onChange(listener: () => void): () => void;
  /** Resolves at the next change. */
  changed(): Promise<void>;
}

/**
 * Makes what steers one run, to be given to it as `control`.
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
  let isPaused = false;
  let isRetryWanted = false;

  function change(apply: () => void): void {
    apply();
    for (const listener of listeners) listener();
  }

  function setPaused(paused: boolean): void {
    if (paused === isPaused || stopping.signal.aborted) return;
    change(() => {
      isPaused = paused;
    });
  }

  function onChange(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  return {
    get isPaused() {
      return isPaused;
    },
    stopped: stopping.signal,
    pause: () => setPaused(true),
    resume: () => setPaused(false),
    stop: () => {
      if (stopping.signal.aborted) return;
      setPaused(false); // whoever waits finds that it is stopped
      change(() => stopping.abort());
    },
    retryFailures: () => {
      if (stopping.signal.aborted) return;
      change(() => {
        isRetryWanted = true;
      });
    },
    takeRetry: () => {
      const wasWanted = isRetryWanted;
      if (wasWanted) {
        change(() => {
          isRetryWanted = false;
        });
      }
      return wasWanted;
    },
    get isRetryWanted() {
      return isRetryWanted;
    },
    whileOpen: async (signal) => {
      signal.throwIfAborted();
      if (!isPaused) return;
      await new Promise<void>((resolve, reject) => {
        const look = (): void => {
          if (isPaused && !signal.aborted) return;
          stopListening();
          signal.removeEventListener('abort', look);
          if (signal.aborted) reject(signal.reason as Error);
          else resolve();
        };
        const stopListening = onChange(look);
        signal.addEventListener('abort', look);
      });
    },
    onChange,
    changed: async () => {
      await new Promise<void>((resolve) => {
        const stopListening = onChange(() => {
          stopListening();
          resolve();
        });
      });
    },
  };
}
