/** Bounds how many calls may be made. */
export interface Budget {
  /**
   * Reserves one call. Waits while all that is left is reserved by calls under way, because some of
   * them may be given back.
   *
   * @returns false when the budget is used up
   */
  reserve(signal: AbortSignal): Promise<boolean>;
  /** The reserved call was made and counts. */
  spend(): void;
  /** The reserved call was not made, or was answered 429. */
  giveBack(): void;
}

/** @param maxCalls undefined for no bound */
export function createBudget(maxCalls: number | undefined): Budget {
  if (maxCalls === undefined) {
    return { reserve: async () => true, spend: () => {}, giveBack: () => {} };
  }
  let spent = 0;
  let reserved = 0;
  let waiting: (() => void)[] = [];

  function settle(): void {
    reserved -= 1;
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  }

  return {
    reserve: async (signal) => {
      while (spent + reserved >= maxCalls) {
        signal.throwIfAborted();
        if (spent >= maxCalls) return false;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      reserved += 1;
      return true;
    },
    spend: () => {
      spent += 1;
      settle();
    },
    giveBack: settle,
  };
}
