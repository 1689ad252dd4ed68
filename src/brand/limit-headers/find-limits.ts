import type { LimitHints } from '../../common/calls.ts';
import { combinePolicies, type Policy, parsePolicies } from './policy.ts';
import {
  type AnswerTime,
  type FieldValue,
  fieldText,
  findNumber,
  findWaitMs,
  membersOf,
  type TimeField,
} from './time.ts';
import type { WindowFinder } from './window-finder.ts';

/** The statements of an answer's headers on when and how often to call. */
export interface Limits {
  /** How long to wait before the next call, when the answer states it explicitly. */
  readonly retryAfterMs?: number;
  readonly limits?: LimitHints;
}

/** What is known when the headers of an answer are read. */
export interface Reading extends AnswerTime {
  /** Finds the windows of the server's limits. @default windows are not looked for */
  readonly windows?: WindowFinder;
}

/** The headers of an answer, with names in lower case. */
type Headers = Readonly<Record<string, FieldValue>>;

/**
 * Reads every known dialect of rate limit headers: `Retry-After` and `retry-after-ms`, the fields
 * `RateLimit` and `RateLimit-Policy` of the IETF draft, and `RateLimit-Limit`, `-Remaining` and
 * `-Reset` of its older versions, these with or without the second dash. Any prefix may stand before
 * a name, such as `X-` or `X-Acme-`. The name may say what is counted (`-Reset-Requests`, `-Limit-Minute`) or
 * how the reset is meant (`-Reset-After`, `-Reset-Ms`). Values that make no sense are ignored.
 */
export function findLimits(headers: Headers, reading: Reading): Limits | undefined {
  let candidates: string[] | undefined;
  // Every answer passes here, and most have none of these headers, so their names are searched for a
  // word before they are matched.
  for (const name in headers) {
    if (!name.includes('limit') && !name.includes('retry')) continue;
    if (LIMIT.test(name) || RETRY_AFTER.test(name)) (candidates ??= []).push(name);
  }
  return candidates && limitsIn(candidates.slice(0, MOST_CANDIDATES), headers, reading);
}

/**
 * How long a refusal says to wait, in milliseconds; undefined when it does not say "later" at all. It
 * says so by a stated wait, or by a limit with nothing left and a reset.
 *
 * @param isForRate whether its status says that calls were too many (429, 402). The reset of a limit
 *   then counts unless the limit is known to have calls left, in which case another one was hit
 */
export function laterOf(stated: Limits | undefined, isForRate = false): number | undefined {
  const { remaining, resetMs } = stated?.limits ?? {};
  const isUsedUp = remaining === 0 || (isForRate && remaining === undefined);
  return stated?.retryAfterMs ?? (isUsedUp ? resetMs : undefined);
}

const MOST_CANDIDATES = 50;
/** Fields of a limit. Makers put `X-`, their name or that of the API in front. */
const LIMIT = /^ratelimit$|(?:^|-)rate-?limit-/;
/** `Retry-After` in all its spellings, with its unit if the name states one. */
const RETRY_AFTER = /(?:^|-)retry-?after(?:-(ms|millis|milliseconds|seconds))?$/;

function limitsIn(
  names: readonly string[],
  headers: Headers,
  reading: Reading,
): Limits | undefined {
  noteTime(headers, reading);
  const stated: Record<'s' | 'ms', number | undefined> = { s: undefined, ms: undefined };
  const policies: Policy[] = [];
  const counters = new Map<string, Counter>();
  for (const name of names) {
    const value = headers[name];
    const retryAfter = RETRY_AFTER.exec(name);
    if (retryAfter) {
      const unit = retryAfter[1]?.startsWith('m') ? 'ms' : 's';
      const waitMs = findWaitMs(value, reading, { unit });
      if (waitMs !== undefined) stated[unit] = Math.max(waitMs, stated[unit] ?? waitMs);
    } else if (name === 'ratelimit' || name === 'ratelimit-policy') {
      policies.push(...parsePolicies(fieldText(value), reading));
    } else noteCounter(counters, name, fieldText(value));
  }
  // A field in milliseconds stands beside `Retry-After` for more precision than a second.
  const retryAfterMs = stated.ms ?? stated.s;
  for (const [name, counter] of counters) policies.push(...policiesOf(name, counter, reading));
  const limits = combinePolicies(policies);
  if (retryAfterMs === undefined && limits === undefined) return undefined;
  return {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(limits === undefined ? {} : { limits }),
  };
}

function noteTime(headers: Headers, { clock, ...time }: Reading): void {
  // The `Date` of a cached answer is the time at which the cache received it.
  if (headers['age'] === undefined) clock?.note(time);
}

/**
 * Headers of one counter: `X-RateLimit-Limit-Requests`, `…-Remaining-Requests`, `…-Reset-Requests`.
 */
interface Counter {
  limit?: string;
  remaining?: string;
  reset?: string;
  resetUnit?: NonNullable<TimeField['unit']>;
}

/**
 * Windows that a counter's name can state. A day is left out, because a daily quota does not set a
 * pace.
 */
const WINDOW_MS: ReadonlyMap<string, number> = new Map([
  ['second', 1_000],
  ['minute', 60_000],
  ['hour', 3_600_000],
]);

/** Words in the name of a reset that say how it is meant, not what is counted. */
const RESET_WORDS: ReadonlyMap<string, { readonly unit?: 'ms'; readonly isFromNow?: true }> =
  new Map([
    ['after', { isFromNow: true }],
    ['in', { isFromNow: true }],
    ['ms', { unit: 'ms' }],
    ['millis', { unit: 'ms' }],
    ['milliseconds', { unit: 'ms' }],
    ['seconds', {}],
    ['at', {}],
    ['time', {}],
    ['timestamp', {}],
    ['epoch', {}],
    ['date', {}],
  ]);

/** Adds a header to its counter. A header without a known role is ignored. */
function noteCounter(counters: Map<string, Counter>, name: string, text: string): void {
  const parts = name.split('-');
  // The last match, because the thing that is counted may have `limit` in its name too.
  const role = parts.findLastIndex(
    (part) => part === 'limit' || part === 'remaining' || part === 'reset',
  );
  const kind = parts[role] as 'limit' | 'remaining' | 'reset' | undefined;
  if (!kind) return;
  const counted = parts.toSpliced(role, 1);
  if (kind !== 'reset') {
    counterOf(counters, counted)[kind] = text;
    return;
  }
  const words = counted.flatMap((part) => RESET_WORDS.get(part) ?? []);
  const counter = counterOf(
    counters,
    counted.filter((part) => !RESET_WORDS.has(part)),
  );
  // A time from now needs no clock, so it takes precedence over a point in time.
  if (counter.reset !== undefined && !words.some(({ isFromNow }) => isFromNow)) return;
  counter.reset = text;
  counter.resetUnit = words.find(({ unit }) => unit)?.unit ?? 's';
}

function counterOf(counters: Map<string, Counter>, counted: readonly string[]): Counter {
  const key = counted.join('-');
  const counter = counters.get(key) ?? {};
  counters.set(key, counter);
  return counter;
}

/** The policies in the headers of one counter. */
function policiesOf(name: string, counter: Counter, reading: Reading): readonly Policy[] {
  const { limit = '', remaining = '' } = counter;
  const perMs =
    WINDOW_MS.get(name.slice(name.lastIndexOf('-') + 1)) ?? findWindowMs(name, counter, reading);
  const count = perMs === undefined ? undefined : findFewest(limit);
  const left = findFewest(remaining);
  const own: Policy = {
    name,
    unit: 'requests',
    quota: count && perMs ? { count, perMs } : undefined,
    concurrent: undefined,
    remaining: left,
    resetMs: findReset(counter, left, reading),
  };
  // A limit without its window is not a rate.
  return limit.includes(';') ? [...parsePolicies(limit, reading), own] : [own];
}

/**
 * The window, if the finder knows it. Only single numbers are used, because only they are sure to
 * describe the same limit.
 */
function findWindowMs(
  name: string,
  counter: Counter,
  { windows, date }: Reading,
): number | undefined {
  if (counter.resetUnit !== 's') return undefined;
  const limit = findNumber(counter.limit ?? '');
  const remaining = findNumber(counter.remaining ?? '');
  const reset = findNumber(counter.reset ?? '');
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined;
  return windows?.note(name, { limit, remaining, reset, date });
}

/** Takes a reset at its word until one proves to have been rounded down. */
function findReset(
  { reset = '', resetUnit: unit = 's' }: Counter,
  left: number | undefined,
  time: AnswerTime,
): number | undefined {
  const { clock } = time;
  const isKnown = clock?.earliestMs(time.nowMs) !== undefined && !clock.roundsDown;
  // A reset can only be proved wrong when the number of calls left is known.
  if (!isKnown || left === undefined) return findWaitMs(reset, time, { unit });
  const exact: TimeField = { unit, roundedMs: 0 };
  const resetMs = findWaitMs(reset, time, exact);
  if (left > 0 || reset === '' || resetMs !== undefined) return resetMs;
  // The reset passed while the answer was on its way.
  const wasAhead = findWaitMs(reset, { ...time, nowMs: time.sentMs ?? time.nowMs }, exact);
  if (wasAhead !== undefined) return undefined;
  // No calls are left although the reset is past, so the server rounds it down.
  clock.roundsDown = true;
  return findWaitMs(reset, time, { unit });
}

/**
 * A whole number of calls; of several the smallest. Some servers send JSON objects here, which are
 * ignored.
 */
function findFewest(text: string): number | undefined {
  let fewest: number | undefined;
  for (const member of membersOf(text)) {
    const number = findNumber(member);
    if (number === undefined || number > Number.MAX_SAFE_INTEGER) continue;
    fewest = Math.min(Math.floor(number), fewest ?? number);
  }
  return fewest;
}
