import pRetry from 'p-retry';
import type { Answer } from '../brand/answer.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { Outcome } from '../brand/outcome.ts';
import { backoffMs } from './backoff.ts';
import { type CallContext, callInTurn, NotAskedError } from './call.ts';
import type { RetryGate } from './retry-gate.ts';

/** What lookups share. */
export interface LookupContext extends CallContext {
  readonly endpoint: Endpoint;
  /** How often a lookup is tried again. */
  readonly retries: number;
  readonly retryGate: RetryGate;
  /** The longest wait that the API may ask for. Told to wait longer, the run stops. */
  readonly maxWaitMs: number;
  /** Whether an earlier run gave the domain up. @default nothing is known of earlier runs */
  readonly hasFailedBefore?: (domain: string) => boolean;
  /** Told of every call that was not given up. @default nobody keeps count */
  readonly onCall?: ((call: AnsweredCall) => void) | undefined;
  /** Milliseconds since 1970. */
  now(): number;
  random(): number;
}

/** A call, and what came of it. */
export interface AnsweredCall {
  readonly domain: string;
  readonly answer: Answer;
  /** From its start to the last byte of the answer, in milliseconds. */
  readonly latencyMs: number;
}

/** How one lookup ended; `not_asked` when the run stopped before there was an answer. */
export type LookupResult =
  | { readonly kind: 'outcome' | 'forbidden'; readonly outcome: Outcome }
  | { readonly kind: 'not_asked' };

const MAX_REDIRECTS = 3;
const MAX_INVALID_RETRIES = 3;
/** Failures of one lookup that count for an outage. */
const MOST_EVIDENCE = 2;
const MAX_THROTTLED_MS = 10 * 60_000;

/**
 * Asks about one domain until there is an outcome, trying again what is worth it. Never throws for what
 * an API can do.
 *
 * @param isWanted asked before each call: false spares it, and there is no outcome. @default always true
 */
export async function lookUp(
  domain: string,
  context: LookupContext,
  isWanted?: () => boolean,
): Promise<LookupResult> {
  const { stopSwitch, clock, counters, maxWaitMs } = context;
  context.retryGate.counted();
  let attempts = 0;
  let throttled = 0;
  let throttledMs = 0;
  let invalidAnswers = 0;
  let failures = 0;

  async function attempt(): Promise<FinalAnswer | UnusableAnswer> {
    let path = context.endpoint.path(domain);
    for (let redirects = 0; ; redirects += 1) {
      const answer = await callUnthrottled(path);
      if (answer.kind !== 'redirect') return answer;
      if (redirects === MAX_REDIRECTS) {
        return { kind: 'refused', httpStatus: answer.httpStatus, reason: 'too_many_redirects' };
      }
      path = answer.path;
    }
  }

  /**
   * A domain on which the API always fails would look like an outage, above all at the end of a run,
   * when no others are left, or in the next one, which asks for nothing else.
   */
  function isEvidence(): boolean {
    failures += 1;
    return failures <= MOST_EVIDENCE && context.hasFailedBefore?.(domain) !== true;
  }

  /** A throttled call costs no attempt: it is made again when the way is open. */
  async function callUnthrottled(path: string): Promise<UnthrottledAnswer> {
    for (;;) {
      const { answer, closedMs, latencyMs } = await callInTurn(path, context, {
        isEvidence,
        isWanted,
      });
      context.onCall?.({ domain, answer, latencyMs });
      // While the API is out for all, a failure says nothing about this domain.
      if (answer.kind === 'try_again' && context.outage.isOut) continue;
      const isQuotaWait = answer.kind === 'quota_used_up' && answer.retryAfterMs !== undefined;
      if (answer.kind !== 'throttled' && !isQuotaWait) {
        attempts += 1;
        return answer;
      }
      const { retryAfterMs } = answer;
      if (retryAfterMs !== undefined && retryAfterMs > maxWaitMs) {
        stopSwitch.stop({ reason: 'quota', comeBackAtMs: context.now() + retryAfterMs });
        throw new NotAskedError();
      }
      throttled += 1;
      const waitMs = Math.max(retryAfterMs ?? 0, closedMs);
      // A longer wait is one for a quota, which concerns no lookup in particular.
      if (waitMs <= MAX_THROTTLED_MS) throttledMs += waitMs;
      if (throttledMs > MAX_THROTTLED_MS) {
        return { kind: 'refused', httpStatus: answer.httpStatus, reason: 'throttled' };
      }
    }
  }

  /** Makes further attempts. Most lookups end with the first and are spared what this costs. */
  async function tryAgain(first: UnusableAnswer): Promise<FinalAnswer> {
    let failed: UnusableAnswer | undefined = first;
    return await pRetry(
      async () => {
        const answer = failed ?? (await attempt());
        failed = undefined;
        if (!isFinal(answer)) throw new UnusableError(answer);
        return answer;
      },
      {
        retries: context.retries,
        minTimeout: 0, // the wait is in shouldRetry, with full jitter and the server's wish
        shouldRetry: ({ error, retriesConsumed }) => waitToRetry(error, retriesConsumed),
      },
    );
  }

  /** Waits before the next try, or says that there is none. */
  async function waitToRetry(error: Error, retriesMade: number): Promise<boolean> {
    if (!(error instanceof UnusableError)) return false;
    const { answer } = error;
    if (answer.kind === 'invalid_response') {
      invalidAnswers += 1;
      if (invalidAnswers > MAX_INVALID_RETRIES) return false;
    }
    const retryAfterMs = answer.kind === 'try_again' ? answer.retryAfterMs : undefined;
    const delayMs = backoffMs({ retriesMade, retryAfterMs, random: context.random() });
    if (delayMs > MAX_THROTTLED_MS) return false;
    await clock.sleep(delayMs, stopSwitch.noNewCall);
    await context.retryGate.pass(stopSwitch.noNewCall);
    counters.retries += 1;
    return true;
  }

  function conclude(answer: FinalAnswer | UnusableAnswer): LookupResult {
    const status = STATUS_OF[answer.kind];
    if (!status) {
      stopSwitch.stop({ reason: answer.kind === 'unauthorized' ? 'unauthorized' : 'quota' });
      return { kind: 'not_asked' };
    }
    const outcome: Outcome = {
      domain,
      status,
      reason:
        'reason' in answer ? answer.reason : status === 'found' ? '' : `http_${answer.httpStatus}`,
      httpStatus: answer.httpStatus,
      attempts,
      ...(throttled > 0 ? { throttled } : {}),
      fetchedAtMs: context.now(),
      json: answer.kind === 'found' ? answer.json : '',
      shape: answer.kind === 'found' ? answer.shape : undefined,
    };
    return { kind: answer.kind === 'forbidden' ? 'forbidden' : 'outcome', outcome };
  }

  try {
    const answer = await attempt();
    return conclude(isFinal(answer) ? answer : await tryAgain(answer));
  } catch (error) {
    if (error instanceof UnusableError) return conclude(error.answer);
    if (error instanceof NotAskedError || stopSwitch.stopped) return { kind: 'not_asked' };
    throw error;
  }
}

type UnthrottledAnswer = Exclude<Answer, { kind: 'throttled' }>;
/** No good, but another one may be. */
type UnusableAnswer = Extract<Answer, { kind: 'try_again' | 'invalid_response' }>;
type FinalAnswer = Exclude<UnthrottledAnswer, { kind: 'redirect' } | UnusableAnswer>;

function isFinal(answer: FinalAnswer | UnusableAnswer): answer is FinalAnswer {
  return answer.kind !== 'try_again' && answer.kind !== 'invalid_response';
}

/** The kinds that are missing stop the run. */
const STATUS_OF: Readonly<Partial<Record<Answer['kind'], Outcome['status']>>> = {
  found: 'found',
  not_found: 'not_found',
  rejected: 'rejected',
  forbidden: 'rejected',
  refused: 'failed',
  try_again: 'failed',
  invalid_response: 'failed',
};

class UnusableError extends Error {
  override readonly name = 'UnusableError';
  readonly answer: UnusableAnswer;

  constructor(answer: UnusableAnswer) {
    super(answer.reason);
    this.answer = answer;
  }
}
