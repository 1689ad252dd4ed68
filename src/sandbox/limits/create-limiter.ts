import { Concurrent } from './concurrent.ts';
import { FixedWindow } from './fixed-window.ts';
import type { Limiter, LimitKind, LimitRate } from './limiter.ts';
import { SlidingWindow } from './sliding-window.ts';
import { TokenBucket } from './token-bucket.ts';

/** Create a limiter of a kind. `burst` is for the token bucket only. */
export function createLimiter(kind: LimitKind, rate: LimitRate, burst?: number): Limiter {
  switch (kind) {
    case 'token-bucket':
      return new TokenBucket(rate, burst);
    case 'fixed-window':
      return new FixedWindow(rate);
    case 'sliding-window':
      return new SlidingWindow(rate);
    case 'concurrent':
      return new Concurrent(rate.count);
  }
}
