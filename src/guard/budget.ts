/**
 * Bounds how many calls may be made. It has two homes: this process (`createBudget`), or a ledger that
 * all calls with a credential are counted in (`shared-budget.ts`).
 *
 * ```text
 *   left ──acquire──▶ acquired ──spend──▶ spent
 *     ▲                  │
 *     └─────release──────┘
 * ```
 */
export interface Budget {
  /**
   * Acquires one call. Waits while all that is left is acquired by calls under way, because some of
   * them may be released.
   *
   * @returns which bound it was, when the budget is used up
   */
  acquire(signal: AbortSignal): Promise<Permit | UsedUp>;
  /** Acquires one call if that can be done at once. */
  tryAcquire(): Permit | undefined;
}

/** One call that may be made. Ends with `spend` or `release`. */
export interface Permit {
  /** False when it waited for too long. It must then be released, and another one acquired. */
  isGood(): boolean;
  /**
   * The call was made and counts.
   *
   * @param costMicros what it cost, if that is known, in millionths of a unit
   */
  spend(costMicros?: number): void;
  /** The call was not made, or was answered 429. */
  release(): void;
}

/** A budget that has no call left. */
export interface UsedUp {
  readonly reason: 'max_calls' | 'max_calls_per' | 'max_cost';
  /** When there are calls again, in milliseconds since 1970. @default never */
  readonly comeBackAtMs?: number;
}

/** Whether a budget is used up. */
export function isUsedUp(acquired: Permit | UsedUp): acquired is UsedUp {
  return 'reason' in acquired;
}

const UNBOUNDED: Permit = { isGood: () => true, spend: () => {}, release: () => {} };

const UNBOUNDED_BUDGET: Budget = {
  acquire: async () => UNBOUNDED,
  tryAcquire: () => UNBOUNDED,
};

/** @param maxCalls undefined for no bound */
export function createBudget(maxCalls: number | undefined): Budget {
  return maxCalls === undefined ? UNBOUNDED_BUDGET : createBoundedBudget(maxCalls);
}

function createBoundedBudget(maxCalls: number): Budget {
  let spent = 0;
  let acquired = 0;
  let waiting: (() => void)[] = [];

  function settle(): void {
    acquired -= 1;
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  }

  const permit: Permit = {
    isGood: () => true,
    spend: () => {
      spent += 1;
      settle();
    },
    release: settle,
  };

  function tryAcquire(): Permit | undefined {
    if (spent + acquired >= maxCalls) return undefined;
    acquired += 1;
    return permit;
  }

  return {
    tryAcquire,
    acquire: async (signal) => {
      for (;;) {
        const mine = tryAcquire();
        if (mine) return mine;
        signal.throwIfAborted();
        if (spent >= maxCalls) return { reason: 'max_calls' };
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

/**
 * Bounds what calls cost. Each call under way holds the price of one, until its answer says what it
 * cost; so the bound is kept wherever no answer costs more than that.
 *
 * @param maxMicros in millionths of the unit that is billed
 * @param priceMicros what a call may cost
 */
export function createCostBudget(maxMicros: number, priceMicros: number): Budget {
  let spentMicros = 0;
  let underWay = 0;
  let waiting: (() => void)[] = [];

  function settle(costMicros: number): void {
    spentMicros += costMicros;
    underWay -= 1;
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  }

  const permit: Permit = {
    isGood: () => true,
    // A call that was given up may be billed.
    spend: (costMicros = priceMicros) => settle(costMicros),
    release: () => settle(0),
  };

  function tryAcquire(): Permit | undefined {
    if (spentMicros + (underWay + 1) * priceMicros > maxMicros) return undefined;
    underWay += 1;
    return permit;
  }

  return {
    tryAcquire,
    acquire: async (signal) => {
      for (;;) {
        const mine = tryAcquire();
        if (mine) return mine;
        signal.throwIfAborted();
        if (underWay === 0) return { reason: 'max_cost' };
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

/** A budget that needs the consent of two others. */
export function joinBudgets(first: Budget, second: Budget): Budget {
  return {
    acquire: async (signal) => {
      const one = await first.acquire(signal);
      if (isUsedUp(one)) return one;
      let isAcquired = false;
      try {
        const other = await second.acquire(signal);
        if (isUsedUp(other)) return other;
        isAcquired = true;
        return both(one, other);
      } finally {
        if (!isAcquired) one.release();
      }
    },
    tryAcquire: () => {
      const one = first.tryAcquire();
      const other = one && second.tryAcquire();
      if (one && other) return both(one, other);
      one?.release();
      return undefined;
    },
  };
}

/** One call that two budgets count. */
export function both(one: Permit, other: Permit): Permit {
  return {
    isGood: () => one.isGood() && other.isGood(),
    spend: (costMicros) => {
      one.spend(costMicros);
      other.spend(costMicros);
    },
    release: () => {
      one.release();
      other.release();
    },
  };
}
