import { findHttpDateMs } from './http-date.ts';

/** Numbers from here on are seconds since 1970, smaller ones seconds from now… */
const EPOCH_SECONDS_FROM = 1e9;
/** …and these are milliseconds. */
const EPOCH_MILLISECONDS_FROM = 1e11;
/** Used up and back so often, it is a window; less may be chance… */
const TIMES_RESTORED = 3;
/** …with so much of the limit: others may have taken the rest already, but a bucket seldom fills so far. */
const RESTORED_SHARE = 0.9;
/** Resets that came one after another before it counts that all were as far ahead. */
const RESETS_AS_FAR = 6;
/** Longer windows come too seldom to be found out. */
const LONGEST_S = 60;
/** A server may name its counters as it likes; nobody follows more of them than this. */
const MOST_COUNTERS = 20;

/** What an answer says of one counter. */
export interface Count {
  readonly limit: number;
  readonly remaining: number;
  /** When calls are available again, in seconds: since 1970, or from now. */
  readonly reset: number;
  /** The answer's `Date`. */
  readonly date: string | undefined;
}

/**
 * Finds out for which window a limit holds where that is not told, only how many calls are left until when:
 * from how far ahead resets are, how they move on, and whether a limit that was used up is back after them.
 */
export interface WindowFinder {
  /** Takes notice of what an answer says of a counter. Returns the window in ms, undefined while it is not known. */
  note(name: string, count: Count): number | undefined;
}

/** What was seen of a counter; all times are whole seconds. */
interface Seen {
  readonly limit: number;
  /** Whether resets are told in seconds since 1970: then they are rounded up, where windows begin with a call. */
  readonly isEpoch: boolean;
  resetS: number;
  resets: number;
  /** The shortest way from one reset to the next. */
  stepS: number;
  /** How far ahead it was while calls were left. */
  nearestS: number;
  farthestS: number;
  /** Whether none was left at some time, and since when: the reset that was told then, or 0 where some are. */
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
      // Answers overtake one another.
      if (resetS >= seen.resetS) noteReset(seen, { remaining, resetS, aheadS: resetS - dateS });
      return findWindowMs(seen);
    },
  };
}

/** Whole ones: what is told to the millisecond lies elsewhere each time. */
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

interface Told {
  readonly remaining: number;
  readonly resetS: number;
  readonly aheadS: number;
}

function noteReset(seen: Seen, { remaining, resetS, aheadS }: Told): void {
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
  // Seconds that are rounded down say of some windows that they are over at once.
  if (!isEpoch && nearestS === 0) return undefined;
  if (restored < TIMES_RESTORED && !isAlwaysAsFar(seen)) return undefined;
  const windowS = isEpoch && stepS < farthestS ? farthestS - 1 : farthestS;
  return windowS > 0 && windowS <= LONGEST_S ? windowS * 1_000 : undefined;
}

/** Whether the reset moves on with the calls, as windows that slide have it, or those that begin with a call. */
function isAlwaysAsFar({ isEpoch, wasUsedUp, resets, ...seen }: Seen): boolean {
  if (!wasUsedUp || resets < RESETS_AS_FAR) return false;
  const { stepS, nearestS, farthestS } = seen;
  return isEpoch ? stepS < farthestS && nearestS >= farthestS - 1 : nearestS === farthestS;
}
