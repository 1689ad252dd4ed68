/** How calls are limited. */
export type LimitKind = 'token-bucket' | 'fixed-window' | 'sliding-window' | 'concurrent';

/** `count` calls per `perMs` milliseconds. */
export interface LimitRate {
  count: number;
  perMs: number;
}

/** What a limiter says to one call. */
export interface Verdict {
  allowed: boolean;
  /** Calls that would be allowed at this moment, after this one. */
  remaining: number;
  /** Milliseconds until a call may be allowed again (0 when one is now); `undefined` when nobody knows. */
  retryAfterMs: number | undefined;
  /** Milliseconds until the whole quota is there again; `undefined` when nobody knows. */
  resetMs: number | undefined;
}

/** Lets calls through or not. Refused calls count for nothing. */
export interface Limiter {
  /** Ask for one call and book it if it is allowed. `nowMs` must not go backwards. */
  take(nowMs: number): Verdict;
  /** Say that an allowed call has ended. */
  release(): void;
}
