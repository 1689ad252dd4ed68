import pRetry from 'p-retry';
import type { Answer } from '../brand/answer.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { Outcome } from '../brand/outcome.ts';
import type { RetryBudget } from '../guard/retry-budget.ts';
import type { Batches } from './batches.ts';
import { type CallContext, type CallQuestions, callInTurn } from './call.ts';
import { NotAskedError, stopForWait } from './stop-switch.ts';

/** The parts that all lookups share. */
export interface LookupContext extends CallContext {
  readonly endpoint: Endpoint;
  /** Asks about several domains in one call. @default each call asks about one */
  readonly batches?: Batches | undefined;
  /** How often a lookup is retried. */
  readonly retries: number;
  readonly retryBudget: RetryBudget;
  /**
   * The longest wait that the API may ask for. When it asks all callers to wait longer, the run
   * stops.
   */
  readonly maxWaitMs: number;
  /** Whether the lookup of the domain failed in an earlier run. @default always false */
  readonly hasFailedBefore?: (domain: string) => boolean;
  /** Called for every call that was not given up. @default no callback */
  readonly onCall?: ((call: AnsweredCall) => void) | undefined;
  /** Milliseconds since 1970. */
  now(): number;
  random(): number;
}

/** A call and its answer. */
export interface AnsweredCall {
  readonly domain: string;
  readonly answer: Answer;
  /** From its start to the last byte of the answer, in milliseconds. */
  readonly latencyMs: number;
}

/** How one lookup ended; `not_asked` when the run stopped before there was an answer. */
export type LookupResult =
  | {
      readonly kind: 'outcome';
      readonly outcome: Outcome;
      /** The last answer, which the outcome was made of. */
      readonly answer: Answer;
    }
  | { readonly kind: 'not_asked' };

const MAX_REDIRECTS = 3;
/** A body that was cut off may come whole. One that came whole will hardly be another. */
const MAX_CUT_OFF_RETRIES = 3;
const MAX_WHOLE_RETRIES = 1;
/** Failures of one lookup that count as evidence of an outage. */
const MOST_EVIDENCE = 2;
const MAX_THROTTLED_MS = 10 * 60_000;

/**
 * Asks about one domain until there is an outcome, retrying what a retry may help. Never throws for
 * anything that an API does.
 *
 * @param bounds what may keep calls from being made, in which case there is no outcome, and what
 *   counts them. @default no bounds
 */
export function lookUp(
  domain: string,
  context: LookupContext,
  bounds: LookupBounds = {},
): Promise<LookupResult> {
  return new Lookup(domain, context, bounds).run();
}

/** The bounds that all lookups of a chunk share. */
export interface LookupBounds extends Pick<CallQuestions, 'budget' | 'counters'> {
  /** Asked before each call, which may come late. False spares the lookup. @default always true */
  readonly isWanted?: ((domain: string) => boolean) | undefined;
}

/** One lookup under way. An object rather than closures, because it costs less to create. */
class Lookup implements CallQuestions {
  readonly budget: CallQuestions['budget'];
  readonly counters: CallQuestions['counters'];
  readonly domain: string;
  readonly #context: LookupContext;
  readonly #bounds: LookupBounds;
  #attempts = 0;
  #throttled = 0;
  #throttledMs = 0;
  #billedMicros = 0;
  #invalidAnswers = 0;
  #failures = 0;
  #signs = 0;

  constructor(domain: string, context: LookupContext, bounds: LookupBounds) {
    this.domain = domain;
    this.#context = context;
    this.#bounds = bounds;
    this.budget = bounds.budget;
    this.counters = bounds.counters;
  }

  async run(): Promise<LookupResult> {
    try {
      const answer = await this.#attempt();
      this.#context.retryBudget.firstAttemptEnded();
      return this.#conclude(isFinal(answer) ? answer : await this.#tryAgain(answer));
    } catch (error) {
      if (error instanceof UnusableError) return this.#conclude(error.answer);
      if (error instanceof NotAskedError || this.#context.stopSwitch.stopped) return NOT_ASKED;
      throw error;
    }
  }

  isWanted(): boolean {
    return this.#bounds.isWanted?.(this.domain) !== false;
  }

  /**
   * A domain on which the API always fails would look like an outage. That matters most at the end
   * of a run, when no other domains are left, and in the next run, which asks only about such
   * domains.
   */
  isEvidence(): boolean {
    this.#failures += 1;
    const { hasFailedBefore } = this.#context;
    return this.#failures <= MOST_EVIDENCE && hasFailedBefore?.(this.domain) !== true;
  }

  /**
   * An odd domain gives the same answer each time, also in the next run, which may ask about
   * nothing else.
   */
  isSign(): boolean {
    this.#signs += 1;
    return this.#signs === 1 && this.#context.hasFailedBefore?.(this.domain) !== true;
  }

  /**
   * Calls until there is an answer about the domain. Follows redirects and waits when throttled.
   */
  async #attempt(): Promise<FinalAnswer | UnusableAnswer> {
    const context = this.#context;
    let path = context.endpoint.path(this.domain);
    let redirects = 0;
    for (;;) {
      const together = redirects === 0 ? context.batches : undefined;
      const { answer, closedMs, latencyMs } = together
        ? await together.call(this)
        : await callInTurn(path, context, this);
      this.#billedMicros += answer.costMicros ?? 0;
      context.onCall?.({ domain: this.domain, answer, latencyMs });
      // While the API is out for all, a failure says nothing about this domain.
      if (answer.kind === 'try_again' && context.breaker.isOut) continue;
      if (isThrottle(answer)) {
        if (!this.#isWorthWaiting(answer, closedMs)) {
          return { kind: 'refused', httpStatus: answer.httpStatus, reason: 'throttled' };
        }
        continue;
      }
      // Like a throttled call: the lookup was accepted, and asking again is no retry.
      if (answer.kind === 'pending') return answer;
      this.#attempts += 1;
      if (answer.kind !== 'redirect') return answer;
      if (redirects === MAX_REDIRECTS) {
        return { kind: 'refused', httpStatus: answer.httpStatus, reason: 'too_many_redirects' };
      }
      redirects += 1;
      path = answer.path;
    }
  }

  /**
   * A throttled call costs no attempt. It is made again when calls may start, up to a total wait.
   */
  #isWorthWaiting({ httpStatus, retryAfterMs }: ThrottleAnswer, closedMs: number): boolean {
    const { maxWaitMs, stopSwitch } = this.#context;
    if (retryAfterMs !== undefined && retryAfterMs > maxWaitMs) {
      const stop = stopForWait(retryAfterMs, this.#context.now());
      stopSwitch.stop({ ...stop, ...(httpStatus >= 500 ? { trouble: `http_${httpStatus}` } : {}) });
      throw new NotAskedError();
    }
    this.#throttled += 1;
    const waitMs = Math.max(retryAfterMs ?? 0, closedMs);
    // A longer wait is for a quota, which is not about this lookup.
    if (waitMs <= MAX_THROTTLED_MS) this.#throttledMs += waitMs;
    return this.#throttledMs <= MAX_THROTTLED_MS;
  }

  /** Makes further attempts. Most lookups end with the first one and are spared this cost. */
  async #tryAgain(first: UnusableAnswer): Promise<FinalAnswer> {
    let failed: UnusableAnswer | undefined = first;
    return await pRetry(
      async () => {
        const answer = failed ?? (await this.#attempt());
        failed = undefined;
        if (!isFinal(answer)) throw new UnusableError(answer);
        return answer;
      },
      {
        retries: this.#context.retries,
        minTimeout: 0, // the wait is in shouldRetry, with full jitter and the server's wish
        shouldRetry: ({ error, retriesConsumed }) => this.#waitToRetry(error, retriesConsumed),
      },
    );
  }

  /** Waits before the next attempt. Returns false when there is none. */
  async #waitToRetry(error: Error, retriesMade: number): Promise<boolean> {
    if (!(error instanceof UnusableError)) return false;
    const { answer } = error;
    if (answer.kind === 'invalid_response') {
      this.#invalidAnswers += 1;
      const most = answer.isWhole ? MAX_WHOLE_RETRIES : MAX_CUT_OFF_RETRIES;
      if (this.#invalidAnswers > most) return false;
    }
    const { clock, counters, maxWaitMs, retryBudget, stopSwitch } = this.#context;
    const { retryAfterMs = 0 } = answer.kind === 'try_again' ? answer : {};
    if (retryAfterMs > maxWaitMs) return false;
    const delayMs = Math.max(backoffMs(retriesMade, this.#context.random()), retryAfterMs);
    await clock.sleep(delayMs, stopSwitch.noNewCall);
    await retryBudget.acquire(stopSwitch.noNewCall);
    counters.retries += 1;
    if (this.counters) this.counters.retries += 1;
    return true;
  }

  #conclude(answer: FinalAnswer | UnusableAnswer): LookupResult {
    const { stopSwitch } = this.#context;
    const status = statusOf(answer);
    if (!status) {
      const { httpStatus = 0 } = answer;
      const refusal = 'reason' in answer ? { refusal: { httpStatus, said: answer.reason } } : {};
      stopSwitch.stop({
        reason: answer.kind === 'unauthorized' ? 'unauthorized' : 'quota',
        ...refusal,
      });
      return NOT_ASKED;
    }
    const isFound = answer.kind === 'found';
    const outcome: Outcome = {
      domain: this.domain,
      status,
      reason: 'reason' in answer ? answer.reason : isFound ? '' : `http_${answer.httpStatus}`,
      httpStatus: answer.httpStatus,
      attempts: this.#attempts,
      throttled: this.#throttled,
      billedMicros: this.#billedMicros || undefined,
      retryAfterMs: answer.kind === 'pending' ? answer.retryAfterMs : undefined,
      fetchedAtMs: this.#context.now(),
      json: isFound ? answer.json : '',
      shape: isFound ? answer.shape : undefined,
    };
    return { kind: 'outcome', outcome, answer };
  }
}

const NOT_ASKED: LookupResult = { kind: 'not_asked' };

/** An answer that says to wait. `quota_used_up` without `retryAfterMs` is not one. */
type ThrottleAnswer = Extract<Answer, { kind: 'throttled' | 'quota_used_up' }>;
/** An answer that a retry may better. */
type UnusableAnswer = Extract<Answer, { kind: 'try_again' | 'invalid_response' }>;
type FinalAnswer = Exclude<Answer, { kind: 'throttled' | 'redirect' } | UnusableAnswer>;

function isThrottle(answer: Answer): answer is ThrottleAnswer {
  if (answer.kind === 'quota_used_up') return answer.retryAfterMs !== undefined;
  return answer.kind === 'throttled';
}

function isFinal(answer: FinalAnswer | UnusableAnswer): answer is FinalAnswer {
  return answer.kind !== 'try_again' && answer.kind !== 'invalid_response';
}

/** Kinds without an entry stop the run. */
const STATUS_OF: Readonly<Partial<Record<Answer['kind'], Outcome['status']>>> = {
  found: 'found',
  not_found: 'not_found',
  rejected: 'rejected',
  forbidden: 'rejected',
  refused: 'failed',
  try_again: 'failed',
  invalid_response: 'failed',
  pending: 'pending',
};

function statusOf(answer: FinalAnswer | UnusableAnswer): Outcome['status'] | undefined {
  // A whole body that is no JSON will be the same the next time: it is kept like a refusal.
  if (answer.kind === 'invalid_response' && answer.isWhole) return 'rejected';
  return STATUS_OF[answer.kind];
}

/**
 * Full jitter: a random wait from zero up to 0.5 s, 1 s, 2 s, … 30 s, so that lookups that failed
 * together do not come back together.
 *
 * @param random from 0 to 1
 * @see {@link https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ Exponential backoff and jitter}
 */
function backoffMs(retriesMade: number, random: number): number {
  return random * Math.min(500 * 2 ** retriesMade, 30_000);
}

class UnusableError extends Error {
  override readonly name = 'UnusableError';
  readonly answer: UnusableAnswer;

  constructor(answer: UnusableAnswer) {
    super(answer.reason);
    this.answer = answer;
  }
}
