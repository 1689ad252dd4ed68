import type { SandboxOptions } from '../options.ts';
import { createLimiter } from './create-limiter.ts';
import { createLimitHeaders } from './limit-headers.ts';

/** A limit together with the headers that describe it. */
export interface LimitGate {
  enter(nowMs: number): { allowed: boolean; headers: Record<string, string> };
  /** Must be called once for each call that was allowed, when it ends. */
  leave(): void;
}

/** Create the limit of the sandbox, or `undefined` for none. */
export function createLimitGate(
  options: Pick<SandboxOptions, 'limit' | 'limitKind' | 'burst' | 'limitHeaders'>,
): LimitGate | undefined {
  const { limit, limitKind = 'token-bucket', limitHeaders = 'retry-after', burst } = options;
  if (limit === undefined) return undefined;
  const limiter = createLimiter(limitKind, limit, burst);
  const writeHeaders = createLimitHeaders(limitHeaders, limitKind, limit);
  return {
    enter(nowMs) {
      const verdict = limiter.take(nowMs);
      return { allowed: verdict.allowed, headers: writeHeaders(verdict, nowMs) };
    },
    leave: () => limiter.release(),
  };
}
