import type { Answer } from '../../src/brand/answer.ts';
import type { BrandClient } from '../../src/brand/client.ts';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import type { Outcome } from '../../src/brand/outcome.ts';
import { createBudget } from '../../src/guard/budget.ts';
import { createRetryBudget } from '../../src/guard/retry-budget.ts';
import { createRateLimiter } from '../../src/pace/rate-limiter.ts';
import { createCircuitBreaker } from '../../src/worker/circuit-breaker.ts';
import { createCredence } from '../../src/worker/credence.ts';
import type { LookupContext } from '../../src/worker/lookup.ts';
import { createStopSwitch, type StopSwitch } from '../../src/worker/stop-switch.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';

/** When lookups of tests begin, in milliseconds since 1970. */
export const STARTED_AT_MS = Date.UTC(2026, 10, 20);

/** Says what a call is answered; `call` counts from 1 for each domain. */
export type Script = (domain: string, call: number, path: string) => Answer | Promise<Answer>;

/** What a lookup needs, with a client that does as it is told and a clock that needs no time. */
export interface TestContext extends LookupContext {
  readonly clock: FakeClock;
  readonly stopSwitch: StopSwitch;
  /** The paths that were called, in order. */
  readonly called: readonly string[];
}

export interface TestContextOptions {
  readonly retries?: number;
  readonly maxCalls?: number;
  readonly maxWaitMs?: number;
  readonly random?: () => number;
  /** As many lookups as are to be under way at once. */
  readonly callers?: number;
}

export function createTestContext(script: Script, options: TestContextOptions = {}): TestContext {
  const {
    retries = 5,
    maxCalls,
    maxWaitMs = 15 * 60_000,
    random = () => 1,
    callers = 32,
  } = options;
  const clock = createFakeClock({ isImpatient: true });
  const called: string[] = [];
  const stopSwitch = createStopSwitch();
  const callsOf = new Map<string, number>();
  const client: BrandClient = {
    call: async (path, signal) => {
      signal.throwIfAborted();
      called.push(path);
      if (called.length > 10_000) throw new Error('This goes on without end.');
      const domain = new URLSearchParams(path.split('?')[1]).get('domain') ?? '';
      const call = (callsOf.get(domain) ?? 0) + 1;
      callsOf.set(domain, call);
      return await script(domain, call, path);
    },
    callBatch: () => Promise.reject(new Error('This API has no batches.')),
    close: async () => {},
  };
  const limiter = createRateLimiter({ clock, random: () => 1 });
  return {
    client,
    clock,
    called,
    random,
    retries,
    endpoint: createEndpoint({ baseUrl: 'http://api.example' }),
    limiter,
    breaker: createCircuitBreaker({
      clock,
      callers,
      maxOutageMs: 60 * 60_000,
      onTooLong: () => stopSwitch.stop({ reason: 'outage' }),
      onLimitBy503: limiter.startAnew,
    }),
    retryBudget: createRetryBudget(clock),
    maxWaitMs,
    credence: createCredence({ onDisbelief: (why) => stopSwitch.stop(why) }),
    budget: createBudget(maxCalls),
    stopSwitch,
    counters: { calls: 0, throttled: 0, retries: 0, billedMicros: 0 },
    now: () => STARTED_AT_MS + clock.nowMs(),
  };
}

export const found = {
  kind: 'found',
  httpStatus: 200,
  json: '{"a":1}',
  shape: [['a']],
} as const satisfies Answer;
export const notFound: Answer = { kind: 'not_found', httpStatus: 404 };
export const forbidden: Answer = { kind: 'forbidden', httpStatus: 403, reason: 'not for you' };
export const rejected: Answer = { kind: 'rejected', httpStatus: 422, reason: 'no domain' };
export const unauthorized = {
  kind: 'unauthorized',
  httpStatus: 401,
  reason: 'http_401',
} as const satisfies Answer;
export const quotaUsedUp = {
  kind: 'quota_used_up',
  httpStatus: 402,
  reason: 'http_402',
} as const satisfies Answer;
export const invalid: Answer = {
  kind: 'invalid_response',
  httpStatus: 200,
  reason: 'invalid_response',
  sign: 'no_json',
};

export function tryAgain(reason = 'http_500'): Answer {
  const httpStatus = reason.startsWith('http_') ? Number(reason.slice(5)) : undefined;
  return {
    kind: 'try_again',
    httpStatus,
    reason,
    ...(httpStatus === undefined || httpStatus >= 500 ? { about: 'api' } : {}),
  };
}

export function throttled(retryAfterMs?: number, httpStatus = 429): Answer {
  return { kind: 'throttled', httpStatus, retryAfterMs };
}

/** An outcome as a lookup makes it. */
export function outcomeOf(domain: string, outcome: Partial<Outcome>): Outcome {
  return {
    domain,
    status: 'failed',
    reason: '',
    httpStatus: undefined,
    attempts: 1,
    fetchedAtMs: STARTED_AT_MS,
    json: '',
    ...outcome,
  };
}
