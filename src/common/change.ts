/** Lets callers wait for a change. A caller that wakes up checks whether it concerns it. */
export interface Change {
  readonly wait: () => Promise<void>;
  readonly notify: () => void;
}

export function createChange(): Change {
  let wakeAll: (() => void)[] = [];
  return {
    wait: () => new Promise((resolve) => wakeAll.push(resolve)),
    notify: () => {
      const sleepers = wakeAll;
      wakeAll = [];
      for (const wake of sleepers) wake();
    },
  };
}

/** Callers that wait, in the order in which they came. */
interface WaitQueue {
  /** The number of waiting callers. */
  readonly length: number;
  /**
   * Waits until it is this caller's turn.
   *
   * @throws the reason of the signal, when it is aborted before that; at once, when it was already
   */
  wait(signal: AbortSignal): Promise<void>;
  /** Wakes the caller that has waited longest. */
  wakeNext(): void;
}

export function createWaitQueue(): WaitQueue {
  const waiting: (() => void)[] = [];
  return {
    get length() {
      return waiting.length;
    },
    wait: (signal) =>
      new Promise<void>((resolve, reject) => {
        // A signal tells of its abort once: whoever comes later would wait for ever.
        if (signal.aborted) return reject(signal.reason as Error);
        const giveUp = (): void => {
          waiting.splice(waiting.indexOf(wake), 1);
          reject(signal.reason as Error);
        };
        const wake = (): void => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.push(wake);
      }),
    wakeNext: () => waiting.shift()?.(),
  };
}
