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
