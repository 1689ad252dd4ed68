import { type InnerList, type Item, parseDictionary, parseList, Token } from 'structured-headers';
import { type LimitHints, LONGEST_STATED_MS } from '../calls/rate.ts';
import { HOUR_MS } from '../common/format.ts';
import { isJsonObject } from './json-object.ts';
import type { ResponseHeaders } from './transport.ts';

// What an answer says on when and how often to call. What is stated is believed as a wait; whatever
// is malformed counts as absent, nothing counts for longer than a year, and hostile headers cost no
// time.

/** What an answer states. */
export interface Limits {
  /** How long to wait, in milliseconds from now. */
  readonly retryAfterMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
}

/** When an answer came. */
export interface AnswerTime {
  readonly nowMs: number;
  /** The `Date` of the answer, which points in time are compared with. @default our clock */
  readonly date?: string | undefined;
  /** How long the answer lay in a cache, as `Age` says. @default no time */
  readonly ageMs?: number | undefined;
}

/** Headers that name a wait: in seconds, or in milliseconds where they end so. */
const WAITS = 'retry-after x-retry-after retry-after-ms x-retry-after-ms x-ms-retry-after-ms'.split(
  ' ',
);

/** Members of a body that name a wait, without case, `_` and `-`. */
export const BODY_WAITS: ReadonlySet<string> = new Set(
  'retryafter retryafterseconds retryafterms retryin resetafter resetin resetat'.split(' '),
);

/** What a number of a wait is, in milliseconds. */
function unitOf(name: string): number {
  return name.endsWith('ms') ? 1 : 1_000;
}

/** What `Limit`, `Remaining`, `Reset`, `Reset-After` and `Policy` begin with. */
const FAMILIES = ['ratelimit-', 'x-ratelimit-', 'x-rate-limit-'];

/** Names that contain none of these say nothing of limits. */
const SIGN = /retry-after|rate-?limit/;

/**
 * Reads what headers say: the waits and the families above, and `RateLimit` of each draft of the
 * IETF. A profile names others.
 */
export function findLimits(headers: ResponseHeaders, nowMs: number): Limits | undefined {
  let isStated = false;
  // Every answer passes here, and most have none of these headers.
  for (const name in headers) {
    if (SIGN.test(name)) isStated = true;
  }
  if (!isStated) return undefined;
  const time = timeOf(headers, nowMs);
  const limits = combinePolicies([
    ...policiesIn(headers['ratelimit'], time),
    ...FAMILIES.flatMap((family) => familyIn(headers, family, time)),
  ]);
  const waits = WAITS.map((name) => findWaitMs(headers[name], time, unitOf(name)));
  const retryAfterMs = longestWait(waits, [limits?.resetMs]);
  if (!limits) return retryAfterMs === undefined ? undefined : { retryAfterMs };
  return { retryAfterMs, limits: { ...limits, resetMs: longestWait([limits.resetMs], waits) } };
}

/** When an answer with these headers came, and by which clock. */
export function timeOf(headers: ResponseHeaders, nowMs: number): AnswerTime {
  const ageS = findNumber(fieldText(headers['age'])) ?? 0;
  return { nowMs, date: fieldText(headers['date']), ageMs: ageS * 1_000 };
}

/**
 * How long an answer says to wait: as its headers say, else its body, else until the reset of a
 * limit with nothing left.
 *
 * @param isForRate whether its status says that calls were too many: then the reset of a limit also
 *   counts that does not say what is left
 */
export function waitIn(
  stated: Limits | undefined,
  isForRate = false,
  ofBody?: number,
): number | undefined {
  const { remaining, resetMs } = stated?.limits ?? {};
  const isUsedUp = remaining === 0 || (isForRate && remaining === undefined);
  const first = stated?.retryAfterMs ?? ofBody ?? (isUsedUp ? resetMs : undefined);
  return longestWait([first], [ofBody, resetMs]);
}

/**
 * The wait that the body of a refusal names, at its top or one level below. Only for answers that
 * are known to be about the moment: a member of a record may have any name.
 */
export function findWaitInBody(json: unknown, time: AnswerTime): number | undefined {
  const parts = [json, ...membersOf(json).map(([, value]) => value)];
  const waits = parts.flatMap(membersOf).map(([given, value]) => {
    const name = plainName(given);
    const isText = typeof value === 'string' || typeof value === 'number';
    return BODY_WAITS.has(name) && isText
      ? findWaitMs(String(value), time, unitOf(name))
      : undefined;
  });
  return longestWait(waits);
}

/** The name of a member whatever the style in which it is written. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isJsonObject(value) ? Object.entries(value).slice(0, MOST_MEMBERS) : [];
}

/** A refusal has few. */
const MOST_MEMBERS = 30;

/**
 * The longest wait of several. One that is about a thousand times another statement is the same in
 * milliseconds, taken for seconds: the shorter one counts.
 */
function longestWait(
  found: readonly (number | undefined)[],
  others: readonly (number | undefined)[] = [],
): number | undefined {
  const waits = found.flatMap((ms) => ms ?? []);
  const all = [...waits, ...others.flatMap((ms) => ms ?? [])];
  const scaled = waits.map((ms) => all.find((one) => isThousandth(one, ms)) ?? ms);
  return scaled.length === 0 ? undefined : Math.max(...scaled);
}

function isThousandth(one: number, other: number): boolean {
  const times = other / one;
  return times >= 500 && times <= 2_000;
}

/** A longer window, such as a day, sets no pace; what is left of it still counts. */
const LONGEST_PACE_MS = HOUR_MS;

/**
 * Combines policies into one that is as strict as the strictest. Undefined when they say nothing.
 */
export function combinePolicies(policies: readonly LimitHints[]): LimitHints | undefined {
  let quota: LimitHints['quota'];
  for (const { quota: one } of policies) {
    if (!one || one.perMs > LONGEST_PACE_MS) continue;
    if (!quota || one.count / one.perMs < quota.count / quota.perMs) quota = one;
  }
  const [narrowest] = policies
    .filter(({ remaining, resetMs }) => (remaining ?? resetMs) !== undefined)
    .sort((a, b) => callsIn(a) - callsIn(b) || (b.resetMs ?? 0) - (a.resetMs ?? 0));
  if (!quota && !narrowest) return undefined;
  return { quota, remaining: narrowest?.remaining, resetMs: narrowest?.resetMs };
}

function callsIn({ remaining = Number.POSITIVE_INFINITY }: LimitHints): number {
  return remaining;
}

/**
 * The policies of a family such as `X-RateLimit-*`. Where its fields are lists, each place is one.
 */
function familyIn(
  headers: ResponseHeaders,
  family: string,
  time: AnswerTime,
): readonly LimitHints[] {
  const textsOf = (member: string) => piecesOf(fieldText(headers[family + member]));
  const counts = textsOf('limit').map(findNumber);
  const left = textsOf('remaining').map(leastUsedUp);
  const after = textsOf('reset-after');
  const resets = after.length > 0 ? after : textsOf('reset');
  // A plan without a limit says that it is 0, and that nothing of it is left.
  const policies = left.map(
    (remaining, at): LimitHints => ({
      remaining: counts[at] === 0 ? undefined : remaining,
      resetMs: findWaitMs(resets[at] ?? resets[0], time),
    }),
  );
  if (left.length === 0) policies.push({ resetMs: findWaitMs(headers[`${family}reset`], time) });
  // A limit without its window is not a rate: `100, 100;w=60` has one.
  const windows = fieldText(headers[`${family}limit`]).includes(';') ? ['limit'] : [];
  return [
    ...policies,
    ...[...windows, 'policy'].flatMap((member) => policiesIn(headers[family + member], time)),
  ];
}

/** The pieces of a list. A date has a comma behind its day. */
function piecesOf(text: string): readonly string[] {
  if (text === '') return [];
  return text.startsWith('{') || findDateMs(text) !== undefined
    ? [text]
    : text.split(',').map((piece) => piece.trim());
}

/**
 * A count, or counts by window, such as `{'minute': 0, 'day': None}`: then only whether one is used
 * up.
 */
function leastUsedUp(text: string): number | undefined {
  if (text.startsWith('{')) return /:\s*0\s*[,}]/.test(text) ? 0 : undefined;
  const number = findNumber(text);
  return number === undefined ? undefined : Math.floor(number);
}

/**
 * The policies of a structured field: `"burst";q=100;w=60` and `"burst";r=0;t=30`, or, as of draft
 * 7, `limit=10, remaining=0, reset=3`.
 *
 * @see {@link https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ RateLimit
 *   header fields for HTTP}
 */
function policiesIn(value: FieldValue, time: AnswerTime): readonly LimitHints[] {
  const text = fieldText(value);
  try {
    if (!/^limit\s*=/i.test(text)) return parseList(text).flatMap((item) => policyOf(item, time));
    const named = parseDictionary(text.toLowerCase());
    const numberOf = (name: string) => findNumber(String(named.get(name)?.[0]));
    return [
      {
        remaining: numberOf('limit') === 0 ? undefined : numberOf('remaining'),
        resetMs: findWaitMs(String(numberOf('reset')), time),
      },
    ];
  } catch {
    return [];
  }
}

function policyOf([value, parameters]: Item | InnerList, time: AnswerTime): readonly LimitHints[] {
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
      resetMs: resetS === undefined ? undefined : leftOf(resetS * 1_000, time),
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

/** A number from here on is a point in time: as seconds from now it would be tens of years. */
const EPOCH_S_FROM = 1e9;
/** From here on it is in milliseconds, then microseconds, then nanoseconds. */
const EPOCH_MS_FROM = 1e11;

/**
 * Reads a field that names a time as milliseconds from now: seconds, seconds down to nanoseconds
 * since 1970, a duration such as `2m59.5s`, or a date as HTTP, C or ISO 8601 write it. Of a list
 * that several servers on the way made, the longest. Undefined for anything else and for what is
 * past.
 *
 * @param unitMs what one of its numbers is
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#field.retry-after RFC 9110, 10.2.3}
 */
export function findWaitMs(
  value: FieldValue,
  time: AnswerTime,
  unitMs = 1_000,
): number | undefined {
  const all = piecesOf(fieldText(value)).map((text) => waitOf(text, time, unitMs));
  const known = all.flatMap((ms) => ms ?? []);
  return known.length === 0 || known.length < all.length ? undefined : Math.max(...known);
}

function waitOf(text: string, time: AnswerTime, unitMs: number): number | undefined {
  const [, bare = text] = /^"(.*)"$/.exec(text) ?? [];
  const number = findNumber(bare);
  if (number === undefined) {
    const durationMs = findDurationMs(bare);
    return durationMs === undefined ? waitUntil(findDateMs(bare), time) : leftOf(durationMs, time);
  }
  if (number < EPOCH_S_FROM) return leftOf(number * unitMs, time);
  let untilMs = number < EPOCH_MS_FROM ? number * 1_000 : number;
  while (untilMs >= EPOCH_MS_FROM * 1_000) untilMs /= 1_000;
  return waitUntil(untilMs, time);
}

/** What is left of a wait when it is heard. */
function leftOf(waitMs: number, { ageMs = 0 }: AnswerTime): number | undefined {
  const leftMs = waitMs - ageMs;
  return leftMs > 0 || ageMs === 0 ? Math.min(leftMs, LONGEST_STATED_MS) : undefined;
}

function waitUntil(untilMs: number | undefined, time: AnswerTime): number | undefined {
  if (untilMs === undefined) return undefined;
  // The `Date` of an answer shows the clock that its points in time are of, and when it was made.
  const dateMs = findDateMs(time.date ?? '');
  const waitMs = untilMs - (dateMs ?? time.nowMs);
  if (waitMs <= 0) return undefined;
  return dateMs === undefined ? Math.min(waitMs, LONGEST_STATED_MS) : leftOf(waitMs, time);
}

const UNITS: readonly (readonly [name: RegExp, ms: number])[] = [
  [/^(?:ms|milliseconds?)$/, 1],
  [/^s(?:ecs?|econds?)?$/, 1_000],
  [/^m(?:ins?|inutes?)?$/, 60_000],
  [/^h(?:rs?|ours?)?$/, 3_600_000],
  [/^d(?:ays?)?$/, 86_400_000],
];

/** `3s`, `3 seconds`, `2m59.56s`. */
function findDurationMs(text: string): number | undefined {
  if (!/^(?:\d{1,20}(?:\.\d{1,20})? ?[a-z]{1,12} ?){1,5}$/i.test(text)) return undefined;
  let sumMs = 0;
  for (const part of text.toLowerCase().split(/(?<=[a-z]) ?(?=\d)/)) {
    const unit = part.replace(/^[\d.]+/, '').trim();
    const [, unitMs] = UNITS.find(([name]) => name.test(unit)) ?? [];
    if (unitMs === undefined) return undefined;
    sumMs += Number.parseFloat(part) * unitMs;
  }
  return sumMs;
}

const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} [\d:]{8} [A-Z]{3}$/;
/** As C's asctime writes it, in GMT. */
const C_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/;
const ISO_DATE = /^\d{4}-\d\d-\d\d[T ][\d:.]{5,18}(Z|[+-]\d\d:?\d\d)?$/;

function findDateMs(text: string): number | undefined {
  const [isIso, zone] = ISO_DATE.exec(text) ?? [];
  const isOfC = C_DATE.test(text);
  if (!isIso && !isOfC && !HTTP_DATE.test(text)) return undefined;
  // Without a zone it is in GMT.
  const ms = Date.parse(isOfC ? `${text} GMT` : isIso && !zone ? `${text}Z` : text);
  return Number.isNaN(ms) ? undefined : ms;
}
