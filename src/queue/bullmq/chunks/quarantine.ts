import { createChange } from '../../change.ts';

/**
 * Keeps chunks that may be to blame for lost workers apart from all others. A chunk that is lost
 * along with one of them would look as guilty.
 */
export interface Quarantine {
  /**
   * Works on a chunk along with others. Waits while a chunk that was taken at the same time is
   * alone.
   */
  shared<T>(work: () => Promise<T>): Promise<T>;
  /** Works on a chunk when no other is under way. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  /** False while a chunk is alone or waits to be. No other chunk should then be taken. */
  readonly isFree: boolean;
}

export function createQuarantine(): Quarantine {
  let underWay = 0;
  let waiting: (() => void)[] = [];
  let isClosed = false;
  const change = createChange();

  function next(): void {
    const first = underWay === 0 ? waiting.shift() : undefined;
    isClosed = first !== undefined;
    first?.();
    if (!isClosed) change.notify();
  }

  async function run<T>(work: () => Promise<T>): Promise<T> {
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
      next();
    }
  }

  return {
    shared: async (work) => {
      while (isClosed) await change.wait();
      return await run(work);
    },
    exclusive: async (work) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (!isClosed) next();
      });
      return await run(work);
    },
    get isFree() {
      return !isClosed && waiting.length === 0;
    },
  };
}
