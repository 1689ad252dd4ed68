import { EPOCH_MILLISECONDS_FROM, EPOCH_SECONDS_FROM, findHttpDateMs } from './time.ts';

/**
 * A limit that was used up and then full again this often has a window. Fewer times may be chance.
 */
const TIMES_RESTORED = 3;
/**
 * The share of the limit that counts as full. Other clients may have used the rest already, but a
 * token bucket seldom fills so far.
 */
const RESTORED_SHARE = 0.9;
/** Successive resets needed before it counts that all were equally far ahead. */
const RESETS_AS_FAR = 6;
/** Longer windows end too seldom to be found. */
const LONGEST_S = 60;
/** A server may name any number of counters. No more than this are followed. */
const MOST_COUNTERS = 20;

/** The state of one counter in an answer. */
export interface Count {
  readonly limit: number;
  readonly remaining: number;
  /** When calls are available again: seconds since 1970, or seconds from now. */
  readonly reset: number;
  /** The answer's `Date`. */
  readonly date: string | undefined;
}

/**
 * Finds the window of a limit when headers state only how many calls are left until when. It looks
 * at how far ahead resets are, how they move on, and whether a limit that was used up is full again
 * after them.
 */
export interface WindowFinder {
  /**
   * Learns from what an answer says of a counter. Returns the window in ms, undefined while it is
   * not known.
   */
  note(name: string, count: Count): number | undefined;
}

/** The observations of a counter. All times are whole seconds. */
interface Seen {
  readonly limit: number;
  /**
   * Whether resets are seconds since 1970. These are rounded up when a window begins with a call.
   */
  readonly isEpoch: boolean;
  resetS: number;
  resets: number;
  /** The shortest step from one reset to the next. */
  stepS: number;
  /** How far ahead the reset was while calls were left. */
  nearestS: number;
  farthestS: number;
  /**
   * Whether the limit was ever used up. `usedUpUntilS` is the reset that was then stated, or 0
   * while calls are left.
   */
  wasUsedUp: boolean;
  usedUpUntilS: number;
  restored: number;
}

/** Creates a finder that has seen nothing yet. */
export function createWindowFinder(): WindowFinder {
  const counters = new Map<string, Seen>();

  return {
    note(name, { limit, remaining, reset, date }) {
      const dateMs = date === undefined ? undefined : findHttpDateMs(date);
      if (dateMs === undefined || !isInSeconds(reset)) return undefined;
      const dateS = dateMs / 1_000;
      const isEpoch = reset >= EPOCH_SECONDS_FROM;
      const resetS = isEpoch ? reset : dateS + reset;
      let seen = counters.get(name);
      if (seen?.limit !== limit || seen.isEpoch !== isEpoch) {
        if (!seen && counters.size >= MOST_COUNTERS) return undefined;
        seen = nothingSeen({ limit, isEpoch, resetS });
        counters.set(name, seen);
      }
      // Answers may arrive out of order.
      if (resetS >= seen.resetS) noteReset(seen, { remaining, resetS, aheadS: resetS - dateS });
      return findWindowMs(seen);
    },
  };
}

/** Only whole seconds are used: a reset in milliseconds differs a little each time. */
function isInSeconds(reset: number): boolean {
  return Number.isInteger(reset) && reset < EPOCH_MILLISECONDS_FROM;
}

function nothingSeen(first: Pick<Seen, 'limit' | 'isEpoch' | 'resetS'>): Seen {
  return {
    ...first,
    resets: 0,
    stepS: Number.POSITIVE_INFINITY,
    nearestS: Number.POSITIVE_INFINITY,
    farthestS: 0,
    wasUsedUp: false,
    usedUpUntilS: 0,
    restored: 0,
  };
}

interface Stated {
  readonly remaining: number;
  readonly resetS: number;
  readonly aheadS: number;
}

function noteReset(seen: Seen, { remaining, resetS, aheadS }: Stated): void {
  if (resetS > seen.resetS) {
    seen.resets += 1;
    seen.stepS = Math.min(seen.stepS, resetS - seen.resetS);
    seen.resetS = resetS;
  }
  if (remaining === 0) {
    seen.wasUsedUp = true;
    seen.usedUpUntilS = resetS;
    return;
  }
  seen.nearestS = Math.min(seen.nearestS, aheadS);
  seen.farthestS = Math.max(seen.farthestS, aheadS);
  if (seen.usedUpUntilS === 0 || resetS === seen.usedUpUntilS) return;
  seen.usedUpUntilS = 0;
  if (seen.restored >= TIMES_RESTORED) return;
  const isAll = remaining + 1 >= RESTORED_SHARE * seen.limit;
  seen.restored = Math.max(0, seen.restored + (isAll ? 1 : -1));
}

function findWindowMs(seen: Seen): number | undefined {
  const { isEpoch, stepS, nearestS, farthestS, restored } = seen;
  // Seconds rounded down can say of a window that it is over at once.
  if (!isEpoch && nearestS === 0) return undefined;
  if (restored < TIMES_RESTORED && !isAlwaysAsFar(seen)) return undefined;
  const windowS = isEpoch && stepS < farthestS ? farthestS - 1 : farthestS;
  return windowS > 0 && windowS <= LONGEST_S ? windowS * 1_000 : undefined;
}

/**
 * Whether the reset moves on with the calls, as in sliding windows and in windows that begin with a
 * call.
 */
function isAlwaysAsFar({ isEpoch, wasUsedUp, resets, ...seen }: Seen): boolean {
  if (!wasUsedUp || resets < RESETS_AS_FAR) return false;
  const { stepS, nearestS, farthestS } = seen;
  return isEpoch ? stepS < farthestS && nearestS >= farthestS - 1 : nearestS === farthestS;
}
