import { type InnerList, type Item, parseList, Token } from 'structured-headers';
import { type LimitHints, LONGEST_STATED_MS } from '../common/calls.ts';
import type { ResponseHeaders } from './transport.ts';

// What the headers of an answer say on when and how often to call. Whatever is malformed counts as
// absent, nothing counts for longer than a year, and hostile headers cost no time.

/** What an answer states. */
export interface Limits {
  /** From `Retry-After`: how long to wait, in milliseconds from now. */
  readonly retryAfterMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
}

/** One policy, as far as one field describes it. */
export interface Policy {
  /** At most `count` calls in any `perMs` milliseconds. */
  readonly quota?: { readonly count: number; readonly perMs: number } | undefined;
  readonly remaining?: number | undefined;
  readonly resetMs?: number | undefined;
}

/** When an answer came. */
export interface AnswerTime {
  readonly nowMs: number;
  /** The `Date` of the answer, which points in time are compared with. @default our clock */
  readonly date?: string | undefined;
}

/**
 * Reads `Retry-After`, `RateLimit` and `RateLimit-Policy` (IETF), and the older `RateLimit-*` and
 * `X-RateLimit-*` with `Limit`, `Remaining` and `Reset`. A profile names others.
 */
export function findLimits(headers: ResponseHeaders, nowMs: number): Limits | undefined {
  let isStated = false;
  // Every answer passes here, and most have none of these headers.
  for (const name in headers) {
    if (name === 'retry-after' || name.includes('ratelimit')) isStated = true;
  }
  if (!isStated) return undefined;
  const time = { nowMs, date: fieldText(headers['date']) };
  const retryAfterMs = findWaitMs(headers['retry-after'], time);
  const limits = combinePolicies([
    ...policiesIn(headers['ratelimit-policy']),
    ...policiesIn(headers['ratelimit']),
    ...['', 'x-'].flatMap((prefix) => counterIn(headers, `${prefix}ratelimit-`, time)),
  ]);
  return retryAfterMs === undefined && !limits ? undefined : { retryAfterMs, limits };
}

/**
 * How long an answer says to wait: as `Retry-After` says, else until the reset of a limit with nothing
 * left.
 *
 * @param isForRate whether its status says that calls were too many: then the reset of a limit also
 *   counts that does not say what is left
 */
export function waitIn(stated: Limits | undefined, isForRate = false): number | undefined {
  const { remaining, resetMs } = stated?.limits ?? {};
  const isUsedUp = remaining === 0 || (isForRate && remaining === undefined);
  return stated?.retryAfterMs ?? (isUsedUp ? resetMs : undefined);
}

/** Combines policies into one that is as strict as the strictest. Undefined when they say nothing. */
export function combinePolicies(policies: readonly Policy[]): LimitHints | undefined {
  let quota: Policy['quota'];
  for (const { quota: one } of policies) {
    if (one && (!quota || one.count / one.perMs < quota.count / quota.perMs)) quota = one;
  }
  const [narrowest] = policies
    .filter(({ remaining, resetMs }) => (remaining ?? resetMs) !== undefined)
    .sort((a, b) => leftOf(a) - leftOf(b) || (b.resetMs ?? 0) - (a.resetMs ?? 0));
  if (!quota && !narrowest) return undefined;
  return {
    ...(quota ? { quota } : {}),
    ...(narrowest?.remaining === undefined ? {} : { remaining: narrowest.remaining }),
    ...(narrowest?.resetMs === undefined ? {} : { resetMs: narrowest.resetMs }),
  };
}

function leftOf({ remaining = Number.POSITIVE_INFINITY }: Policy): number {
  return remaining;
}

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset`. */
function counterIn(headers: ResponseHeaders, prefix: string, time: AnswerTime): readonly Policy[] {
  const limit = headers[`${prefix}limit`];
  return [
    {
      remaining: findCount(fieldText(headers[`${prefix}remaining`])),
      resetMs: findWaitMs(headers[`${prefix}reset`], time),
    },
    // A limit without its window is not a rate: `100, 100;w=60` has one.
    ...(fieldText(limit).includes(';') ? policiesIn(limit) : []),
  ];
}

/**
 * The members of a structured field, such as `"burst";q=100;w=60` and `"burst";r=0;t=30`.
 *
 * @see {@link https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ RateLimit header fields for HTTP}
 */
function policiesIn(value: FieldValue): readonly Policy[] {
  try {
    return parseList(fieldText(value)).flatMap(policyOf);
  } catch {
    return [];
  }
}

function policyOf([value, parameters]: Item | InnerList): readonly Policy[] {
  const unit = parameters.get('qu') ?? 'requests';
  // A number of bytes or points is not a number of calls.
  if ((unit instanceof Token ? unit.toString() : unit) !== 'requests') return [];
  const amount = (given: unknown): number | undefined =>
    typeof given === 'number' && given >= 0 ? given : undefined;
  const count = amount(parameters.get('q')) ?? amount(value);
  const perMs = 1_000 * (amount(parameters.get('w')) ?? 0);
  const remaining = amount(parameters.get('r'));
  const resetS = amount(parameters.get('t'));
  const isRate = count !== undefined && count > 0 && perMs > 0 && perMs <= LONGEST_STATED_MS;
  return [
    {
      quota: isRate ? { count, perMs } : undefined,
      remaining: remaining && Math.floor(remaining),
      resetMs: resetS === undefined ? undefined : Math.min(resetS * 1_000, LONGEST_STATED_MS),
    },
  ];
}

/** A header as it is received. Several lines of one name are a list. */
export type FieldValue = string | readonly string[] | undefined;

/** A server may send a field of any length. No more than this is read. */
const LONGEST_FIELD = 4_096;

/** All lines of a field as one. */
export function fieldText(value: FieldValue): string {
  const text = typeof value === 'string' ? value : (value ?? []).join(', ');
  return text.slice(0, LONGEST_FIELD).trim();
}

/** Digits, with or without a fraction; no sign, no exponent. */
export function findNumber(text: string): number | undefined {
  return /^\d{1,20}(?:\.\d{1,20})?$/.test(text) ? Number(text) : undefined;
}

function findCount(text: string): number | undefined {
  const number = findNumber(text);
  return number === undefined ? undefined : Math.floor(number);
}

/** A number from here on is a point in time: as seconds from now it would be tens of years. */
const EPOCH_S_FROM = 1e9;
const EPOCH_MS_FROM = 1e11;

/**
 * Reads a field that names a time as milliseconds from now: seconds, seconds or milliseconds since
 * 1970, or a date as HTTP or ISO 8601 writes it. Undefined for anything else and for what is past.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#field.retry-after RFC 9110, 10.2.3}
 */
export function findWaitMs(value: FieldValue, time: AnswerTime): number | undefined {
  const text = fieldText(value);
  const number = findNumber(text);
  if (number === undefined) return waitUntil(findDateMs(text), time);
  if (number >= EPOCH_MS_FROM) return waitUntil(number, time);
  if (number >= EPOCH_S_FROM) return waitUntil(number * 1_000, time);
  return Math.min(number * 1_000, LONGEST_STATED_MS);
}

function waitUntil(untilMs: number | undefined, { nowMs, date }: AnswerTime): number | undefined {
  if (untilMs === undefined) return undefined;
  // The `Date` of an answer shows the clock that its points in time are of.
  const waitMs = untilMs - (findDateMs(date ?? '') ?? nowMs);
  return waitMs > 0 ? Math.min(waitMs, LONGEST_STATED_MS) : undefined;
}

const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} [\d:]{8} [A-Z]{3}$/;
const ISO_DATE = /^\d{4}-\d\d-\d\d[T ][\d:.]{5,18}(Z|[+-]\d\d:?\d\d)?$/;

function findDateMs(text: string): number | undefined {
  const [isIso, zone] = ISO_DATE.exec(text) ?? [];
  if (!isIso && !HTTP_DATE.test(text)) return undefined;
  // Without a zone it is in GMT.
  const ms = Date.parse(isIso && !zone ? `${text}Z` : text);
  return Number.isNaN(ms) ? undefined : ms;
}
