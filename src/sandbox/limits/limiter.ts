/** The kind of a limit. */
export type LimitKind = 'token-bucket' | 'fixed-window' | 'sliding-window' | 'concurrent';

/** `count` calls per `perMs` milliseconds. */
export interface LimitRate {
  count: number;
  perMs: number;
}

/** The decision of a limiter about one call. */
export interface Verdict {
  allowed: boolean;
  /** Calls that would be allowed at this moment, after this one. */
  remaining: number;
  /**
   * Milliseconds until a call may be allowed again (0 when one is now); `undefined` when that is
   * unknown.
   */
  retryAfterMs: number | undefined;
  /** Milliseconds until the whole quota is there again; `undefined` when that is unknown. */
  resetMs: number | undefined;
}

/** Allows calls or refuses them. Refused calls do not count. */
export interface Limiter {
  /** Ask for one call and book it if it is allowed. `nowMs` must not go backwards. */
  take(nowMs: number): Verdict;
  /** Must be called when an allowed call has ended. */
  release(): void;
}
