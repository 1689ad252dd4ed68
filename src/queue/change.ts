/** Lets callers wait for a change. A caller that wakes up checks whether it concerns it. */
export interface Change {
  readonly next: () => Promise<void>;
  readonly tell: () => void;
}

export function createChange(): Change {
  let wakeAll: (() => void)[] = [];
  return {
    next: () => new Promise((resolve) => wakeAll.push(resolve)),
    tell: () => {
      const sleepers = wakeAll;
      wakeAll = [];
      for (const wake of sleepers) wake();
    },
  };
}
