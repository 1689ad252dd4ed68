import { type AnswerTime, membersOf } from './field.ts';
import { type Policy, parsePolicies } from './policy.ts';
import { EPOCH_MILLISECONDS_FROM, findResetMs } from './reset.ts';
import { findNumber } from './time.ts';

/**
 * Headers of one counter: `X-RateLimit-Limit-Requests`, `…-Remaining-Requests`, `…-Reset-Requests`.
 */
export interface Counter {
  limit?: string;
  remaining?: string;
  reset?: string;
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

/** Adds a header to its counter. A header without a known role is ignored. */
export function noteCounter(counters: Map<string, Counter>, name: string, text: string): void {
  const parts = name.split('-');
  // The last match, because the thing that is counted may have `limit` in its name too.
  const role = parts.findLastIndex(
    (part) => part === 'limit' || part === 'remaining' || part === 'reset',
  );
  const kind = parts[role] as keyof Counter | undefined;
  if (!kind) return;
  const counted = parts.toSpliced(role, 1);
  if (kind !== 'reset') {
    counterOf(counters, counted)[kind] = text;
    return;
  }
  const counter = counterOf(
    counters,
    counted.filter((part) => part !== 'after' && part !== 'ms'),
  );
  const reset = counted.includes('ms') ? inMilliseconds(text) : text;
  // A time from now needs no clock, so it takes precedence over a point in time.
  if (counted.includes('after')) counter.reset = reset;
  else counter.reset ??= reset;
}

function counterOf(counters: Map<string, Counter>, counted: readonly string[]): Counter {
  const key = counted.join('-');
  const counter = counters.get(key) ?? {};
  counters.set(key, counter);
  return counter;
}

/**
 * `…-Reset-Ms: 1500` must not be read as 1,500 seconds. A larger number is a time in milliseconds
 * since 1970.
 */
function inMilliseconds(text: string): string {
  const number = findNumber(text.trim());
  return number === undefined || number >= EPOCH_MILLISECONDS_FROM ? text : `${number}ms`;
}

/** The policies in the headers of one counter. */
export function policiesOf(name: string, counter: Counter, time: AnswerTime): readonly Policy[] {
  const { limit = '', remaining = '', reset = '' } = counter;
  const perMs =
    WINDOW_MS.get(name.slice(name.lastIndexOf('-') + 1)) ?? findWindowMs(name, counter, time);
  const count = perMs === undefined ? undefined : findFewest(limit);
  const left = findFewest(remaining);
  const own: Policy = {
    name,
    unit: 'requests',
    quota: count && perMs ? { count, perMs } : undefined,
    concurrent: undefined,
    remaining: left,
    resetMs: findReset(reset, left, time),
  };
  // A limit without its window is not a rate.
  return limit.includes(';') ? [...parsePolicies(limit), own] : [own];
}

/**
 * The window, if the finder knows it. Only single numbers are used, because only they are sure to
 * describe the same limit.
 */
function findWindowMs(
  name: string,
  counter: Counter,
  { windows, date }: AnswerTime,
): number | undefined {
  const limit = findNumber(counter.limit ?? '');
  const remaining = findNumber(counter.remaining ?? '');
  const reset = findNumber(counter.reset ?? '');
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined;
  return windows?.note(name, { limit, remaining, reset, date });
}

/** Takes a reset at its word until one proves to have been rounded down. */
function findReset(text: string, left: number | undefined, time: AnswerTime): number | undefined {
  const { clock } = time;
  const isKnown = clock?.earliestMs(time.nowMs) !== undefined && !clock.roundsDown;
  // A reset can only be proved wrong when the number of calls left is known.
  if (!isKnown || left === undefined) return findResetMs(text, time);
  const resetMs = findResetMs(text, time, 0);
  if (left > 0 || text === '' || resetMs !== undefined) return resetMs;
  // The reset passed while the answer was on its way.
  const wasAhead = findResetMs(text, { ...time, nowMs: time.sentMs ?? time.nowMs }, 0);
  if (wasAhead !== undefined) return undefined;
  // No calls are left although the reset is past, so the server rounds it down.
  clock.roundsDown = true;
  return findResetMs(text, time);
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
