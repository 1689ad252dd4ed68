/** At most `count` calls in any `perMs` milliseconds. */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
}
