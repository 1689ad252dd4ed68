import type { LimitHints } from '../../common/limit-hints.ts';
import { parseRetryAfter, parseRetryAfterMs } from '../retry-after.ts';
import { combinePolicies } from './combine-policies.ts';
import { type Counter, noteCounter, policiesOf } from './counter.ts';
import { type AnswerTime, type FieldValue, fieldText } from './field.ts';
import { type Policy, parsePolicies } from './policy.ts';

/** The statements of an answer's headers on when and how often to call. */
export interface Limits {
  /** How long to wait before the next call, when the answer states it explicitly. */
  readonly retryAfterMs?: number;
  readonly limits?: LimitHints;
}

/**
 * Reads every known dialect of rate limit headers: `Retry-After` and `retry-after-ms`, the fields
 * `RateLimit` and `RateLimit-Policy` of the IETF draft, `RateLimit-Limit`, `-Remaining` and
 * `-Reset` of its older versions, and `X-RateLimit-…` with or without the second dash. The name may
 * say what is counted (`-Reset-Requests`, `-Limit-Minute`) or end in `-Reset-After` or `-Reset-Ms`.
 * Values that make no sense are ignored.
 *
 * @param headers with names in lower case
 */
export function findLimits(
  headers: Readonly<Record<string, FieldValue>>,
  time: AnswerTime,
): Limits | undefined {
  let candidates: string[] | undefined;
  // Every answer passes here, and most have none of these headers, so the first letter of a name is
  // tested first.
  for (const name in headers) {
    const first = name.charCodeAt(0);
    if (first !== LETTER_R && first !== LETTER_X) continue;
    if (isCandidate(name)) (candidates ??= []).push(name);
  }
  return candidates && limitsIn(candidates.slice(0, MOST_CANDIDATES), headers, time);
}

const LETTER_R = 0x72;
const LETTER_X = 0x78;
const MOST_CANDIDATES = 50;
const PREFIXES = ['ratelimit', 'x-ratelimit-', 'x-rate-limit-', 'rate-limit-'];

function isCandidate(name: string): boolean {
  return name.startsWith('retry-after') || PREFIXES.some((prefix) => name.startsWith(prefix));
}

function limitsIn(
  names: readonly string[],
  headers: Readonly<Record<string, FieldValue>>,
  time: AnswerTime,
): Limits | undefined {
  noteTime(headers, time);
  let retryAfterMs: number | undefined;
  let exactRetryAfterMs: number | undefined;
  const policies: Policy[] = [];
  const counters = new Map<string, Counter>();
  for (const name of names) {
    const value = headers[name];
    if (name === 'retry-after') retryAfterMs = parseRetryAfter(value, time);
    else if (name === 'retry-after-ms') exactRetryAfterMs = parseRetryAfterMs(value);
    else if (name === 'ratelimit' || name === 'ratelimit-policy') {
      policies.push(...parsePolicies(fieldText(value)));
    } else noteCounter(counters, name, fieldText(value));
  }
  const waitMs = exactRetryAfterMs ?? retryAfterMs;
  for (const [name, counter] of counters) policies.push(...policiesOf(name, counter, time));
  const limits = combinePolicies(policies);
  if (waitMs === undefined && limits === undefined) return undefined;
  return {
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    ...(limits === undefined ? {} : { limits }),
  };
}

function noteTime(headers: Readonly<Record<string, FieldValue>>, time: AnswerTime): void {
  // The `Date` of a cached answer is the time at which the cache received it.
  if (headers['age'] === undefined) time.clock?.note(time);
}
