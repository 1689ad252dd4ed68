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
