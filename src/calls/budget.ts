import { DAY_MS, HOUR_MS, MINUTE_MS } from '../common/format.ts';
import { unlessAborted, within } from '../common/lifetime.ts';
import { createChange } from '../common/run-control.ts';
import { localTime } from '../common/text.ts';

/**
 * Bounds how many calls may be made, or what they may cost. A ledger counts them before they are
 * made.
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
  /** The most domains that the call may be about. */
  readonly domains: number;
  /**
   * False when it waited for too long, or more is known by now of what a call costs. It must then
   * be released, and another one acquired.
   */
  isGood(): boolean;
  /** The call is about to be made, for those who count them. */
  begin?(): void;
  /**
   * The call was made and counts.
   *
   * @param costMicros what it cost, in millionths of a unit. @default as much as it may have cost
   * @param domains how many it was about. @default as many as it may have been about
   */
  spend(costMicros?: number, domains?: number): void;
  /**
   * The call was not made, or was answered 429, which may have its cost all the same.
   *
   * @param costMicros of a 429, which may be 0. @default the call was not made
   */
  release(costMicros?: number): void;
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

const UNBOUNDED: Permit = {
  domains: Infinity,
  isGood: () => true,
  spend: () => {},
  release: () => {},
};

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
    domains: Math.min(one.domains, other.domains),
    isGood: () => one.isGood() && other.isGood(),
    begin: () => {
      one.begin?.();
      other.begin?.();
    },
    spend: (...made) => {
      one.spend(...made);
      other.spend(...made);
    },
    release: (costMicros) => {
      one.release(costMicros);
      other.release(costMicros);
    },
  };
}

/**
 * Counts calls, or what they cost: those of a run, or those made with one credential by all runs
 * and machines together. They are taken before they are made, so that the limit cannot be exceeded:
 * what a killed process had taken stays counted.
 */
export interface CallLedger {
  /**
   * Takes what so many domains may count in the present window, or as much as is left. While nobody
   * knows what one costs, that is all there is.
   *
   * @param each the most that one is known to have cost
   * @param signal ends the wait for a ledger that cannot be reached
   */
  take(domains: number, each: number | undefined, signal: AbortSignal): Promise<Taken>;
  /** How much all runs have taken in the present window. */
  read(): Promise<Counted>;
  /** Gives back what was not used. Does nothing once its window is over. */
  giveBack(count: number, window: CalendarWindow, each?: number): Promise<void>;
}

export interface Taken {
  /** 0 when nothing is left. */
  readonly count: number;
  /** The most that one domain may count, as far as anybody knows. */
  readonly each: number | undefined;
  readonly window: CalendarWindow;
  /** The time by the ledger's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** What was taken in a window. */
export interface Counted {
  readonly taken: number;
  readonly window: CalendarWindow;
}

/** A budget that a ledger keeps. */
export interface SharedBudget extends Budget {
  /** Waits until what was not used is given back. Never throws. */
  close(): Promise<void>;
}

/** What of a call is counted. */
export interface Counting {
  /** Each call as one, each domain that it is about, or what it costs. @default 'calls' */
  readonly counts?: 'calls' | 'domains' | 'cost' | undefined;
  /** The most domains of a call. @default 1 */
  readonly size?: number | undefined;
  /**
   * What a domain costs that is billed, at least, in millionths of a unit.
   *
   * @default as answers tell
   */
  readonly least?: number | undefined;
}

export interface SharedBudgetOptions extends Counting {
  readonly ledger: CallLedger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** What a budget is that has no call left. @default a bound of `maxCallsPer` */
  readonly usedUp?: (window: CalendarWindow) => UsedUp;
  /**
   * For how many calls is taken beyond those that somebody waits for, and kept until the end: for a
   * ledger that nobody else takes from. @default 0
   */
  readonly ahead?: number;
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
  /**
   * What was taken and is not acquired. Less than nothing when a call has cost more than was held
   * for it.
   */
  left: number;
  /** Calls that are acquired and may come back. */
  acquired: number;
  /** When the ledger had nothing left to take. */
  exhaustedAtMs: number | undefined;
}

/** What a domain counts, as answers have told so far. */
class DomainPrice {
  /** The most that one domain has counted; undefined until that is known. */
  each: number | undefined;
  /** Whether the ledger has not heard of it. */
  isNews = false;
  readonly #counts: SharedBudgetOptions['counts'];
  readonly #least: number;

  constructor({ counts = 'calls', least = 0 }: SharedBudgetOptions) {
    this.#counts = counts;
    this.#least = least;
  }

  learn(told: number | undefined): void {
    if (told !== undefined && told > (this.each ?? -1)) this.each = told;
  }

  /** What a call counts that was made. @param held what it holds */
  countOf(held: number, costMicros: number | undefined, domains?: number): number {
    if (this.#counts === 'calls') return held;
    if (this.#counts === 'domains') return domains ?? held;
    if (costMicros === undefined) return held; // it was given up and may be billed
    if (costMicros > 0) {
      const told = Math.max(this.#least, Math.ceil(costMicros / (domains ?? 1)));
      this.isNews ||= told > (this.each ?? 0);
      this.learn(told);
    }
    return costMicros;
  }
}

/**
 * A ledger that cannot be reached must not hold up the end of a run. The calls then stay counted.
 */
const GIVE_BACK_MS = 2_000;

/**
 * A ledger that had no calls left may have some again later: others give back what they do not
 * need.
 */
const ASK_AGAIN_MS = 1_000;

function usedUpUntil({ endsAtMs }: CalendarWindow): UsedUp {
  return { reason: 'max_calls_per', comeBackAtMs: endsAtMs };
}

/**
 * All that wait for a call are served by one answer of the ledger, and what nobody waits for goes
 * back at once. An acquired call that has waited beyond the end of its window is no longer good,
 * because it is not counted in the next one.
 *
 * A call under way holds the most that one has cost so far. Until an answer has told a cost, a call
 * is about one domain and holds all that is left, so that no second one starts beside it, anywhere.
 */
export function createSharedBudget(options: SharedBudgetOptions): SharedBudget {
  const { ledger, now, usedUp = usedUpUntil, ahead = 0, counts = 'calls' } = options;
  const size = counts === 'calls' ? 1 : (options.size ?? 1);
  const price = new DomainPrice(options);
  const change = createChange();
  let share: Share | undefined;
  let waiting = 0;
  let isClosing = false;
  let taking: Promise<void> | undefined;
  let givingBack: Promise<void> = Promise.resolve();

  const needed = (): number => (waiting + ahead) * size;

  async function take(signal: AbortSignal): Promise<void> {
    await givingBack;
    const before = givingBack;
    const askedAtMs = now();
    const { count, window, nowMs, ...taken } = await ledger.take(needed(), price.each, signal);
    price.learn(taken.each);
    const overAtMs = askedAtMs + window.endsAtMs - nowMs;
    if (share?.window.id !== window.id) {
      share = { window, overAtMs, left: 0, acquired: 0, exhaustedAtMs: undefined };
    }
    share.overAtMs = overAtMs;
    share.left += count;
    share.exhaustedAtMs = count === 0 && before === givingBack ? now() : undefined;
  }

  const isOver = ({ overAtMs }: Share): boolean => now() >= overAtMs;

  /** Gives back what nobody waits for. If it fails, that stays counted. */
  function giveBack(of: Share): void {
    const { each, isNews } = price;
    const kept = isClosing ? 0 : needed() * (each ?? Infinity) || 0;
    const surplus = of.left < 0 ? of.left : Math.max(0, of.left - kept);
    if ((surplus === 0 && !isNews) || isOver(of)) return;
    of.left -= surplus;
    price.isNews = false;
    if (surplus > 0) of.exhaustedAtMs = undefined;
    givingBack = givingBack.then(() => ledger.giveBack(surplus, of.window, each)).catch(() => {});
  }

  const onSettled = (of: Share): void => {
    change.notify();
    if (of.left !== 0 || price.isNews) setImmediate(giveBack, of);
  };

  function tryAcquire(): Permit | undefined {
    if (!share || isOver(share)) return undefined;
    const { each } = price;
    const isEnough = each === undefined ? share.left > 0 : share.left >= each;
    return isEnough ? permitIn(share, { price, counts, size, isOver, onSettled }) : undefined;
  }

  async function acquire(signal: AbortSignal): Promise<Permit | UsedUp> {
    waiting += 1;
    try {
      for (;;) {
        signal.throwIfAborted();
        const acquired = tryAcquire();
        if (acquired) return acquired;
        if (!share || !isExhausted(share, now()) || isOver(share)) {
          taking ??= take(signal).finally(() => {
            taking = undefined;
          });
          await unlessAborted(taking, signal);
        } else if (share.acquired > 0) await unlessAborted(change.wait(), signal);
        else return usedUp(share.window);
      }
    } finally {
      waiting -= 1;
      if (share) setImmediate(giveBack, share);
    }
  }

  return {
    tryAcquire,
    acquire,
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

function isExhausted({ exhaustedAtMs }: Share, nowMs: number): boolean {
  return exhaustedAtMs !== undefined && Math.abs(nowMs - exhaustedAtMs) < ASK_AGAIN_MS;
}

interface PermitOptions {
  readonly price: DomainPrice;
  readonly counts: SharedBudgetOptions['counts'];
  readonly size: number;
  readonly isOver: (of: Share) => boolean;
  readonly onSettled: (of: Share) => void;
}

/** One more call of a share, and of as many domains as it has room for. */
function permitIn(of: Share, { price, counts, size, isOver, onSettled }: PermitOptions): Permit {
  const { each } = price;
  const room = each === 0 ? size : Math.floor(of.left / (each ?? of.left));
  const domains = Math.min(size, room);
  const held = each === undefined ? of.left : domains * each;
  of.left -= held;
  of.acquired += 1;
  const settle = (count: number): void => {
    of.left += held - count;
    of.acquired -= 1;
    onSettled(of);
  };
  return {
    domains: counts === 'calls' ? Infinity : domains,
    isGood: () => !isOver(of) && held >= (price.each ?? 0) * domains,
    spend: (costMicros, about) => settle(price.countOf(held, costMicros, about)),
    release: (costMicros = 0) => settle(counts === 'cost' ? price.countOf(held, costMicros) : 0),
  };
}

/** A bound of one run. */
export interface RunBound {
  /** What is bounded: how many calls, or what they cost, in millionths of a unit. */
  readonly field: 'calls' | 'micros';
  readonly most: number;
  /** What one domain counts; undefined until an answer has told. */
  readonly each: number | undefined;
}

/** Whose bound it is when it is used up. */
export const REASON_OF = { calls: 'max_calls', micros: 'max_cost' } as const;

/** The budget of a bound of a run. @param counting as the API counts calls */
export function createRunBudget(
  { field }: RunBound,
  ledger: CallLedger,
  counting: Counting & Pick<SharedBudgetOptions, 'ahead'>,
): SharedBudget {
  return createSharedBudget({
    ...counting,
    ...(field === 'micros' && { counts: 'cost' }),
    ledger,
    now: Date.now,
    usedUp: () => ({ reason: REASON_OF[field] }),
  });
}

/** How many calls may be made in a minute, hour, day or month of the calendar. */
export interface CallsPer extends Calendar {
  readonly count: number;
}

export interface Calendar {
  readonly unit: 'minute' | 'hour' | 'day' | 'month';
  /** Whose days they are, such as `Europe/Berlin`. @default UTC */
  readonly timeZone?: string | undefined;
}

/** One minute, hour, day or month. */
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

/** The window of a moment. An hour that a zone has twice is one. */
export function windowAt({ unit, timeZone }: Calendar, nowMs: number): CalendarWindow {
  const local = new Date(nowMs + offsetMs(nowMs, timeZone));
  const endMs = endOf(unit, local);
  // Of a time that does not exist, the one behind the gap.
  const around = [endMs - DAY_MS, endMs + DAY_MS].map((at) => endMs - offsetMs(at, timeZone));
  const exact = around.filter((at) => at + offsetMs(at, timeZone) === endMs);
  const endsAtMs = Math.max(...(exact.length > 0 ? exact : around));
  return { id: local.toISOString().slice(0, ID_LENGTH[unit]), endsAtMs };
}

/** How far a zone's clocks are ahead of UTC. */
function offsetMs(atMs: number, timeZone: string | undefined): number {
  if (timeZone === undefined) return 0;
  const local = Date.parse(`${localTime(new Date(atMs), timeZone).replace(' ', 'T')}Z`);
  return local - Math.floor(atMs / 1_000) * 1_000;
}

function endOf(unit: Calendar['unit'], now: Date): number {
  if (unit === 'month') return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const lengthMs = LENGTH_MS[unit];
  return (Math.floor(now.getTime() / lengthMs) + 1) * lengthMs;
}
