import { DAY_MS, HOUR_MS, MINUTE_MS } from '../common/format.ts';
import { unlessAborted, within } from '../common/lifetime.ts';
import { createChange } from '../common/run-control.ts';

/**
 * Bounds how many calls may be made, or what they may cost. A ledger counts them before they are made.
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

/** A budget that needs the consent of all of these; without any, calls are not bounded. */
export function joinBudgets([first = UNBOUNDED_BUDGET, ...others]: readonly Budget[]): Budget {
  return others.reduce(joinTwo, first);
}

function joinTwo(first: Budget, second: Budget): Budget {
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

/**
 * Counts calls, or what they cost: those of a run, or those made with one credential by all runs and
 * machines together. They are taken before they are made, so that the limit cannot be exceeded: what a
 * killed process had taken stays counted.
 */
export interface CallLedger {
  /**
   * Takes so many of the calls that are left in the present window, or as many as there are.
   *
   * @param signal ends the wait for a ledger that cannot be reached
   */
  take(most: number, signal: AbortSignal): Promise<TakenCalls>;
  /** How many calls all runs have taken in the present window. */
  read(): Promise<CountedCalls>;
  /** Gives back calls that were not made. Does nothing once their window is over. */
  giveBack(calls: number, window: CalendarWindow): Promise<void>;
}

export interface TakenCalls {
  /** 0 when none are left. */
  readonly calls: number;
  readonly window: CalendarWindow;
  /** The time by the ledger's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** The calls that were taken in a window. */
export interface CountedCalls {
  readonly taken: number;
  readonly window: CalendarWindow;
}

/** A budget that a ledger keeps. */
export interface SharedBudget extends Budget {
  /** Waits until what was not used is given back. Never throws. */
  close(): Promise<void>;
}

export interface SharedBudgetOptions {
  readonly ledger: CallLedger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** What a budget is that has no call left. @default a bound of `maxCallsPer` */
  readonly usedUp?: (window: CalendarWindow) => UsedUp;
  /**
   * How many calls are taken beyond those that somebody waits for, and kept until the end: for a ledger
   * that nobody else takes from. @default 0
   */
  readonly ahead?: number;
  /** What each call under way holds of what the ledger counts. @default 1 */
  readonly price?: number;
  /** What a call that was made counts, by what its answer says that it cost. @default `price` */
  readonly costOf?: (costMicros: number | undefined) => number;
}

/** What this process has taken of one window, in calls or in what they cost. */
interface Share {
  readonly window: CalendarWindow;
  /**
   * When the window is over, by this process's clock; rather too early than too late. Each answer
   * of the ledger sets it anew, because the previous answer may have been delayed or the clock set
   * since.
   */
  overAtMs: number;
  /** What was taken and is not acquired. Less than nothing when a call has cost more than its price. */
  left: number;
  /** Calls that are acquired and may come back. */
  acquired: number;
  /** When the ledger had no calls left to take. */
  exhaustedAtMs: number | undefined;
}

/** A ledger that cannot be reached must not hold up the end of a run. The calls then stay counted. */
const GIVE_BACK_MS = 2_000;

/** A ledger that had no calls left may have some again later: others give back what they do not need. */
const ASK_AGAIN_MS = 1_000;

function usedUpUntil({ endsAtMs }: CalendarWindow): UsedUp {
  return { reason: 'max_calls_per', comeBackAtMs: endsAtMs };
}

/**
 * All that wait for a call are served by one answer of the ledger, and what nobody waits for goes back at
 * once. An acquired call that has waited beyond the end of its window is no longer good, because it is
 * not counted in the next one.
 */
export function createSharedBudget(options: SharedBudgetOptions): SharedBudget {
  const { ledger, now, usedUp = usedUpUntil, ahead = 0, price = 1 } = options;
  const { costOf = () => price } = options;
  const change = createChange();
  let share: Share | undefined;
  let waiting = 0;
  let isClosing = false;
  let taking: Promise<void> | undefined;
  let givingBack: Promise<void> = Promise.resolve();

  async function take(signal: AbortSignal): Promise<void> {
    await givingBack;
    const askedAtMs = now();
    const { calls, window, nowMs } = await ledger.take((waiting + ahead) * price, signal);
    const overAtMs = askedAtMs + window.endsAtMs - nowMs;
    if (share?.window.id !== window.id) {
      share = { window, overAtMs, left: 0, acquired: 0, exhaustedAtMs: undefined };
    }
    share.overAtMs = overAtMs;
    share.left += calls;
    share.exhaustedAtMs = calls === 0 ? now() : undefined;
  }

  const isExhausted = ({ exhaustedAtMs }: Share): boolean =>
    exhaustedAtMs !== undefined && Math.abs(now() - exhaustedAtMs) < ASK_AGAIN_MS;

  const isOver = ({ overAtMs }: Share): boolean => now() >= overAtMs;

  function permitIn(of: Share): Permit {
    of.left -= price;
    of.acquired += 1;
    const settle = (back: number): void => {
      of.left += back;
      of.acquired -= 1;
      change.notify();
      if (of.left !== 0) setImmediate(giveBack, of);
    };
    return {
      isGood: () => !isOver(of),
      spend: (costMicros) => settle(price - costOf(costMicros)),
      release: () => settle(price),
    };
  }

  /** If it fails, the calls stay counted. */
  function giveBack(of: Share): void {
    const isKept = !isClosing && of.left >= 0 && of.left <= ahead * price;
    if (waiting > 0 || of.left === 0 || isKept || isOver(of)) return;
    const { left, window } = of;
    of.left = 0;
    of.exhaustedAtMs = undefined;
    givingBack = givingBack.then(() => ledger.giveBack(left, window)).catch(() => {});
  }

  function tryAcquire(): Permit | undefined {
    return share && !isOver(share) && share.left >= price ? permitIn(share) : undefined;
  }

  async function acquire(signal: AbortSignal): Promise<Permit | UsedUp> {
    for (;;) {
      signal.throwIfAborted();
      const acquired = tryAcquire();
      if (acquired) return acquired;
      if (!share || !isExhausted(share) || isOver(share)) {
        taking ??= take(signal).finally(() => {
          taking = undefined;
        });
        await unlessAborted(taking, signal);
      } else if (share.acquired > 0) await change.wait();
      else return usedUp(share.window);
    }
  }

  return {
    tryAcquire,
    acquire: async (signal) => {
      waiting += 1;
      try {
        return await acquire(signal);
      } finally {
        waiting -= 1;
        if (share) setImmediate(giveBack, share);
      }
    },
    close: async () => {
      isClosing = true;
      const all = async (): Promise<void> => {
        await taking?.catch(() => {});
        if (share) giveBack(share);
        await givingBack;
      };
      await within(GIVE_BACK_MS, all());
    },
  };
}

/** How many calls may be made in a minute, hour, day or month of the calendar. */
export interface CallsPer {
  readonly count: number;
  readonly unit: CalendarUnit;
}

export type CalendarUnit = 'minute' | 'hour' | 'day' | 'month';

/** One minute, hour, day or month, in UTC. */
export interface CalendarWindow {
  /** A unique name, such as `2026-11-21` for a day. */
  readonly id: string;
  /** When the next one begins, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/** How many characters of an ISO timestamp name its window. */
const ID_LENGTH = { minute: 16, hour: 13, day: 10, month: 7 } as const;
const LENGTH_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const;

/** The window of all calls of a run, which has no end. */
export const RUN_WINDOW: CalendarWindow = { id: 'run', endsAtMs: Number.POSITIVE_INFINITY };

/** The window of a moment. UTC has no hour that occurs twice and is the same everywhere. */
export function windowAt(unit: CalendarUnit, nowMs: number): CalendarWindow {
  const now = new Date(nowMs);
  return { id: now.toISOString().slice(0, ID_LENGTH[unit]), endsAtMs: endOf(unit, now) };
}

function endOf(unit: CalendarUnit, now: Date): number {
  if (unit === 'month') return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const lengthMs = LENGTH_MS[unit];
  return (Math.floor(now.getTime() / lengthMs) + 1) * lengthMs;
}
