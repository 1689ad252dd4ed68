/** At most `count` calls in any `perMs` milliseconds. */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** The slower of two rates; without one, the other. */
export function slower(one: Rate | undefined, other: Rate | undefined): Rate | undefined {
  if (!one || !other) return one ?? other;
  return one.count / one.perMs < other.count / other.perMs ? one : other;
}

/**
 * The limits that an API states in the headers of an answer, in any dialect. No number is negative
 * or infinite. The client of the API reads the limits and the pacer follows them; neither knows the
 * other.
 */
export interface LimitHints {
  /** Of several policies the slowest. */
  readonly quota?: Rate | undefined;
  /** Calls left until the reset; of several policies the fewest. */
  readonly remaining?: number | undefined;
  /** Milliseconds from the answer until calls are available again. */
  readonly resetMs?: number | undefined;
}

/** No wait that a server states counts for longer: a year. */
export const LONGEST_STATED_MS = 31_536_000_000;

/**
 * Whether a wait is the longest that counts instead of what the server stated. Such a wait is kept,
 * but its end is no time that the server named, so it is never reported as one.
 */
export function isCapped(waitMs: number): boolean {
  return waitMs >= LONGEST_STATED_MS;
}
