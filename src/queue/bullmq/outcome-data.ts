import type { Outcome } from '../../brand/outcome.ts';
import type { Shape } from '../../brand/shape.ts';
import type { OutcomeData } from './contract.ts';

/**
 * An outcome in the form in which it is sent, without the parsed answer.
 *
 * @param given the text in the chunk, when that is not the domain itself
 */
export function toData(outcome: Outcome, given: string = outcome.domain): OutcomeData {
  const { domain, status, reason, httpStatus, attempts, throttled, fetchedAtMs, json } = outcome;
  const { retryAfterMs } = outcome;
  return {
    domain,
    ...(given === domain ? {} : { given }),
    status,
    reason,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    attempts,
    ...(throttled ? { throttled } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    fetchedAtMs,
    json,
  };
}

/** An outcome that no call was made for. */
export function withoutCall(
  domain: string,
  { status, reason, nowMs }: { status: 'failed' | 'invalid'; reason: string; nowMs: number },
): OutcomeData {
  return { domain, status, reason, attempts: 0, fetchedAtMs: nowMs, json: '' };
}

/**
 * The outcome that a run stores. A run checks its domains beforehand, so `invalid` cannot come up
 * for it.
 */
export function toOutcome(data: OutcomeData, shape?: Shape): Outcome {
  const { domain, status, reason, httpStatus, attempts, throttled, fetchedAtMs, json } = data;
  const { retryAfterMs } = data;
  return {
    domain,
    status: status === 'invalid' ? 'failed' : status,
    reason,
    httpStatus,
    attempts,
    throttled,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    fetchedAtMs,
    json,
    shape,
  };
}
