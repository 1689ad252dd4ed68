/** Bounds how many calls may be made. */
export interface Budget {
  /**
   * Reserves one call. Waits while all that is left is reserved by calls under way, because some of
   * them may be given back.
   *
   * @returns which bound it was, when the budget is used up
   */
  reserve(signal: AbortSignal): Promise<Reservation | UsedUp>;
  /** Reserves one call if that can be done at once. */
  tryReserve(): Reservation | undefined;
}

/** One call that may be made. Ends with `spend` or `giveBack`. */
export interface Reservation {
  /** False when it waited for too long. It must then be given back, and another one reserved. */
  isGood(): boolean;
  /** The call was made and counts. */
  spend(): void;
  /** The call was not made, or was answered 429. */
  giveBack(): void;
}

/** A budget that has no call left. */
export interface UsedUp {
  readonly reason: 'max_calls' | 'max_calls_per';
  /** When there are calls again, in milliseconds since 1970. @default never */
  readonly comeBackAtMs?: number;
}

/** Whether a budget is used up. */
export function isUsedUp(reserved: Reservation | UsedUp): reserved is UsedUp {
  return 'reason' in reserved;
}

const UNBOUNDED: Reservation = { isGood: () => true, spend: () => {}, giveBack: () => {} };

const UNBOUNDED_BUDGET: Budget = {
  reserve: async () => UNBOUNDED,
  tryReserve: () => UNBOUNDED,
};

/** @param maxCalls undefined for no bound */
export function createBudget(maxCalls: number | undefined): Budget {
  return maxCalls === undefined ? UNBOUNDED_BUDGET : createBoundedBudget(maxCalls);
}

function createBoundedBudget(maxCalls: number): Budget {
  let spent = 0;
  let reserved = 0;
  let waiting: (() => void)[] = [];

  function settle(): void {
    reserved -= 1;
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  }

  const reservation: Reservation = {
    isGood: () => true,
    spend: () => {
      spent += 1;
      settle();
    },
    giveBack: settle,
  };

  function tryReserve(): Reservation | undefined {
    if (spent + reserved >= maxCalls) return undefined;
    reserved += 1;
    return reservation;
  }

  return {
    tryReserve,
    reserve: async (signal) => {
      for (;;) {
        const mine = tryReserve();
        if (mine) return mine;
        signal.throwIfAborted();
        if (spent >= maxCalls) return { reason: 'max_calls' };
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

/** A budget that needs the consent of two others. */
export function joinBudgets(first: Budget, second: Budget): Budget {
  return {
    reserve: async (signal) => {
      const one = await first.reserve(signal);
      if (isUsedUp(one)) return one;
      let isReserved = false;
      try {
        const other = await second.reserve(signal);
        if (isUsedUp(other)) return other;
        isReserved = true;
        return both(one, other);
      } finally {
        if (!isReserved) one.giveBack();
      }
    },
    tryReserve: () => {
      const one = first.tryReserve();
      const other = one && second.tryReserve();
      if (one && other) return both(one, other);
      one?.giveBack();
      return undefined;
    },
  };
}

/** One call that two budgets count. */
export function both(one: Reservation, other: Reservation): Reservation {
  return {
    isGood: () => one.isGood() && other.isGood(),
    spend: () => {
      one.spend();
      other.spend();
    },
    giveBack: () => {
      one.giveBack();
      other.giveBack();
    },
  };
}
