/** Lets others wait for something to change; whoever wakes up looks whether it concerns him. */
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
