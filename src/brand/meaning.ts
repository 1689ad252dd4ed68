import { domainToUnicode } from 'node:url';
import type { LimitHints } from '../calls/rate.ts';
import { systemErrorCode } from '../common/errors.ts';
import { aboutOf, isMisdirection, type Reason } from '../common/reasons.ts';
import type { RuleMeaning } from './api-profile.ts';
import type { Body } from './body.ts';
import { isJsonObject, type JsonObject, whyNoJson } from './json-object.ts';
import {
  BODY_WAITS,
  fieldText,
  findWaitInBody,
  type Limits,
  plainName,
  timeOf,
  waitIn,
} from './limits.ts';
import { describeNetworkError } from './network-error.ts';
import { type Exchanged, UnknownEncodingError } from './transport.ts';

/**
 * What one answer of the API means. Which meaning holds where one answer alone cannot tell (401 for
 * one domain while others are found, 403 that is a limit) is decided by the gate, which sees what
 * other domains got.
 *
 * | about | meanings |
 * |---|---|
 * | the domain | `found`, `not_found`, `rejected`, `pending`, `failed`, `redirect` |
 * | the caller | `refused`, `quota` |
 * | the moment | `throttled`, `away` |
 * | this machine | `machine` |
 */
export type Meaning = MeaningKind & Facts;

type MeaningKind =
  /** The record, as it came, but for secrets. */
  | { readonly kind: 'found'; readonly json: string }
  /** The same is asked at another path of the same origin; or, as a whole URL, at another host. */
  | { readonly kind: 'redirect'; readonly path: string }
  | { readonly kind: PlainKind };

type PlainKind =
  | 'not_found'
  /** The API refuses this domain. */
  | 'rejected'
  /** The API is still finding out. */
  | 'pending'
  /** No verdict, and another call would hardly help: a body too long, a redirect elsewhere. */
  | 'failed'
  /**
   * 401, 402, 403, or a profile's `unauthorized`: the caller may not, or may not see this domain.
   */
  | 'refused'
  /** The quota is used up, as a profile's rule or a header says; never what words say. */
  | 'quota'
  /** Too many calls. */
  | 'throttled'
  /** 5xx, no answer, or none that can be read. */
  | 'away'
  /** No descriptor, port, route or resolver here, or no way past the proxy. */
  | 'machine';

/** What every meaning has. */
interface Facts {
  /** Why it is no record: one of our own words, `http_<status>` where none says more. */
  readonly reason: Reason;
  /** What the API wrote, on one line, shortened and without secrets; undefined for nothing. */
  readonly said?: string | undefined;
  /** The same of an unknown domain too, which is no news in its row. */
  readonly wrote?: string | undefined;
  /** Undefined when there was no answer. */
  readonly httpStatus: number | undefined;
  /** How long to wait, in milliseconds from now, if the API says so, whatever its answer. */
  readonly retryAfterMs?: number | undefined;
  /** What the headers say on how often to call. */
  readonly limits?: LimitHints | undefined;
  /**
   * What the answer says without the domain, numbers and identifiers: two domains got the same
   * answer where this is equal. Of `found` it is the record itself.
   */
  readonly fingerprint: string;
  /** What the body is: a `page` is any text that is no JSON. `none`: there was no answer. */
  readonly form: Form;
  /**
   * A rule of the profile that looked at a header or the body decided: it needs no other evidence.
   */
  readonly isSure?: boolean | undefined;
  /** The rule of the profile that decided, from 1. */
  readonly rule?: number | undefined;
  /** What it cost, in millionths of the profile's unit. */
  readonly costMicros?: number | undefined;
}

type Form = 'json' | 'page' | 'empty' | 'none';

/**
 * The meaning of each status. The first line that fits counts; a status without one has `failed`. A
 * refusal that states a wait is a limit.
 */
const TABLE: readonly (readonly [from: number, to: number, Meaning['kind']])[] = [
  // Of the moment, among those that refuse.
  ...[408, 409, 420, 421, 423, 424, 425, 430, 449, 498].map(
    (status) => [status, status, 'away'] as const,
  ),
  [202, 202, 'pending'],
  [204, 205, 'not_found'],
  [200, 299, 'found'], // if the body is a JSON object
  [300, 399, 'redirect'],
  [401, 403, 'refused'],
  [404, 404, 'not_found'],
  [410, 410, 'not_found'],
  [429, 429, 'throttled'],
  [400, 499, 'rejected'],
  [501, 501, 'failed'],
  [505, 505, 'failed'],
  [500, 599, 'away'],
];

/** Looks a status up in the table. */
export function meaningOf(httpStatus: number): Meaning['kind'] {
  return TABLE.find(([from, to]) => httpStatus >= from && httpStatus <= to)?.[2] ?? 'failed';
}

/** All that one call has brought. */
export interface Evidence {
  readonly response: Exchanged;
  /** The domain that was asked. */
  readonly domain: string;
  /** What was asked: scheme, host and port, and the path. */
  readonly origin: string;
  readonly path: string;
  readonly stated: Limits | undefined;
  /** When it came, in milliseconds since 1970. */
  readonly nowMs: number;
  readonly body: Body;
  /** Finds the record in the JSON of an answer. @default the answer is the record */
  readonly recordOf?: ((json: unknown) => unknown) | undefined;
  /** Whether a redirect to another host is one to a signed address. @default false */
  readonly followsSigned?: boolean | undefined;
  /** What a rule of the profile says. */
  readonly rule?: RuleMeaning | undefined;
}

/** Decides what one answer means: by a rule of the profile, else by status, headers and JSON. */
export function judge(evidence: Evidence): Meaning {
  const { stated, rule, response } = evidence;
  const kind = rule ? kindOfRule(rule) : meaningOf(response.httpStatus);
  const meaning = (kind !== 'found' && meaningOfGateway(evidence)) || interpret(kind, evidence);
  const retryAfterMs = rule?.waitMs ?? waitOf(meaning, evidence);
  if (retryAfterMs === undefined && !stated && !rule) return meaning;
  // Not a spread, which takes as long as reading a body. The meaning is not seen elsewhere yet.
  return Object.assign(meaning, {
    retryAfterMs,
    limits: stated?.limits,
    rule: rule?.rule,
    isSure: rule?.isSure,
  });
}

function kindOfRule({ means }: RuleMeaning): Meaning['kind'] {
  if (means === 'unauthorized') return 'refused';
  return means === 'retry' ? 'away' : means;
}

/** The meaning of a call without an answer that could be read. */
export function judgeNoAnswer(error: unknown): Meaning {
  const isTooLong = HEADERS_TOO_LONG.test(systemErrorCode(error) ?? '');
  const reason = isTooLong ? 'response_too_large' : describeNetworkError(error);
  const kind = aboutOf(reason) === 'machine' ? 'machine' : isTooLong ? 'failed' : 'away';
  return { kind, reason, httpStatus: undefined, fingerprint: reason, form: 'none' };
}

const HEADERS_TOO_LONG = /^(HPE|UND_ERR)_HEADERS?_OVERFLOW$/;

/** The sign of a wrong address in an answer, as long as no domain was found. */
export function misdirectionIn({ kind, httpStatus = 0, reason, form }: Meaning) {
  if (kind === 'not_found' && form === 'page') return 'not_found_page';
  if (kind === 'rejected' && form === 'page' && OF_THE_CALL.has(httpStatus))
    return 'bad_request_page';
  const isNone = kind === 'away' || kind === 'failed' || kind === 'refused';
  return isNone && isMisdirection(reason) ? reason : undefined;
}

/** Statuses that refuse the request as such, whatever the domain. */
const OF_THE_CALL: ReadonlySet<number> = new Set([400, 405, 406, 411, 415, 417, 426, 431]);

/**
 * The reset of a limit is not when a server that fails is back, unless that is how it limits calls.
 */
function waitOf(
  { kind, httpStatus }: Meaning,
  { stated, response, body, nowMs }: Evidence,
): number | undefined {
  if (kind === 'found' || kind === 'not_found') return stated?.retryAfterMs;
  const isForRate = kind === 'throttled' || kind === 'quota' || httpStatus === 402;
  const isOfMoment = isForRate || httpStatus === 503;
  if (kind === 'away' && !isOfMoment) return stated?.retryAfterMs;
  const time = timeOf(response.headers, nowMs);
  const ofBody = isOfMoment ? findWaitInBody(body.json, time) : undefined;
  return waitIn(stated, isForRate, ofBody);
}

/**
 * Headers by which a network before the API says that it stopped the call to see whether a person
 * makes it.
 */
const WALLS: readonly (readonly [name: string, value: RegExp])[] = [
  ['cf-mitigated', /^challenge$/i],
  ['x-amzn-waf-action', /^(challenge|captcha)$/i],
];
/** The whole of Cloudflare's answer to too many calls, whatever its status. */
const TOO_MANY_AT_GATEWAY = /^error code: 1015\s*$/;

/** What comes of a network before the API, and not of the API. */
function meaningOfGateway(evidence: Evidence): Meaning | undefined {
  const { response, body, rule } = evidence;
  if (rule) return undefined;
  const isWall = WALLS.some(([name, value]) => value.test(fieldText(response.headers[name])));
  if (isWall) return plainly('refused', evidence, 'wall');
  return TOO_MANY_AT_GATEWAY.test(body.text) ? plainly('throttled', evidence) : undefined;
}

function interpret(kind: Meaning['kind'], evidence: Evidence): Meaning {
  const { response, stated } = evidence;
  if (kind === 'found') return meaningOfRecord(evidence);
  if (kind === 'redirect') return meaningOfRedirect(evidence);
  const form = formOf(evidence);
  switch (kind) {
    case 'not_found': {
      // An API that names a time at an unknown domain is still finding out. A page is a cache's.
      const isLater = stated?.retryAfterMs !== undefined && form === 'json' && !evidence.rule;
      return plainly(isLater && response.httpStatus === 404 ? 'pending' : kind, evidence);
    }
    case 'pending':
      // A wall against bots answers 202 with its page.
      return form === 'page' && !evidence.rule
        ? plainly('away', evidence, 'no_json')
        : plainly(kind, evidence);
    default:
      return plainly(limitOr(kind, evidence), evidence);
  }
}

/**
 * What a refusal is that says that it is one for the moment: with a time after which to ask again,
 * or as GitHub does, by 403 with nothing left.
 */
function limitOr(kind: PlainKind, { stated, response: { httpStatus }, rule }: Evidence): PlainKind {
  if (rule || (kind !== 'refused' && kind !== 'rejected')) return kind;
  if (httpStatus === 402) return waitIn(stated, true) === undefined ? kind : 'quota';
  const isUsedUp = httpStatus === 403 && stated?.limits?.remaining === 0;
  return stated?.retryAfterMs !== undefined || isUsedUp ? 'throttled' : kind;
}

/** A meaning that brings nothing but why. */
function plainly(kind: PlainKind, evidence: Evidence, reason?: Reason, why?: string): Meaning {
  const { response, domain, body } = evidence;
  const { httpStatus } = response;
  const fingerprint = `${httpStatus} ${wordsOf(body.text.slice(0, COMPARED_LENGTH), domain)}`;
  return {
    kind,
    reason: reason ?? `http_${httpStatus}`,
    said: why ?? saidIn(kind, evidence),
    wrote: lineOf(body.text),
    httpStatus,
    fingerprint,
    form: formOf(evidence),
  };
}

/** So much of a body is compared with others. */
const COMPARED_LENGTH = 4_096;

function meaningOfRecord(evidence: Evidence): Meaning {
  const { response, body, recordOf, rule } = evidence;
  const { httpStatus, isCut, bodyError } = response;
  const unread = (kind: PlainKind, reason: Reason, why?: string): Meaning =>
    plainly(kind, evidence, reason, why);
  if (isCut) return unread('failed', 'response_too_large');
  if (bodyError instanceof UnknownEncodingError)
    return unread('failed', 'unknown_content_encoding');
  if (bodyError) return unread('away', 'invalid_response');
  if (!body.isReadable) return unread('failed', 'unknown_charset');
  const value = recordOf ? body.json : body.rounded;
  if (recordOf) {
    const record = recordOf(value);
    if (!isJsonObject(record) || isNothing(record)) return unread('failed', 'no_record');
    return found(JSON.stringify(record), httpStatus);
  }
  if (isJsonObject(value)) {
    return (rule ? undefined : meaningOfEnvelope(value, evidence)) ?? found(body.text, httpStatus);
  }
  if (value !== undefined && isNothing(value)) return unread('not_found', 'empty_answer');
  const why = whyNoJson(body.text);
  // A body that breaks off was never whole; a page is not the API's. Broken JSON stays broken.
  if (why === undefined) return unread('away', 'invalid_response');
  return formOf(evidence) === 'json'
    ? unread('rejected', 'invalid_json', why)
    : unread('away', 'no_json');
}

/** The meaning of an answer that has a record. */
export function found(json: string, httpStatus: number): Meaning {
  return { kind: 'found', json, reason: 'http_200', httpStatus, fingerprint: json, form: 'json' };
}

/**
 * An answer with a good status and no record: an object that holds nothing but a failure, such as
 * `{"status":500,"error":"…"}`, whose status counts as if it was that of the answer; or nothing but
 * what a call has, such as `{"data":null,"request_id":"…"}`.
 */
function meaningOfEnvelope(value: JsonObject, evidence: Evidence): Meaning | undefined {
  if (!isNothing(value, OF_FAILURES, evidence.domain)) return undefined; // nearly all
  const members = Object.entries(value);
  if (members.some(isFailure)) {
    const status = members
      .filter(([name]) => OF_STATUS.has(plainName(name)))
      .map(([, one]) => Number(one))
      .find((one) => one >= 400 && one <= 599);
    const kind = status === undefined ? 'rejected' : meaningOf(status);
    if (kind === 'found' || kind === 'redirect') return undefined;
    const reason = status === undefined ? 'failure_in_answer' : (`http_${status}` as const);
    return plainly(limitOr(kind, evidence), evidence, reason);
  }
  // Created or accepted, but nothing to see yet.
  const isLater = evidence.response.httpStatus === 201 || evidence.stated?.retryAfterMs;
  if (isLater) return plainly('pending', evidence);
  if (!isNothing(value, OF_CALLS)) return undefined;
  // A word alone may say anything. Beside a place without a record it says why.
  const isWord = members.some(
    ([name, one]) => WORDS.has(plainName(name)) && typeof one === 'string',
  );
  const isEmpty = members.some(([name, one]) => !OF_CALLS.has(plainName(name)) && isBlank(one));
  return isWord && !isEmpty
    ? plainly('failed', evidence, 'no_record')
    : plainly('not_found', evidence, 'empty_answer');
}

const OF_STATUS: ReadonlySet<string> = new Set(['status', 'statuscode', 'code', 'errorcode']);
const WORDS: ReadonlySet<string> = new Set(['status', 'message', 'msg']);
/** What an API says of a call, and of no company. */
const OF_CALLS: ReadonlySet<string> = new Set([
  ...OF_STATUS,
  ...WORDS,
  ...BODY_WAITS,
  ...'error errors errormessage errordescription fault exception ok success succeeded'.split(' '),
  ...'id requestid traceid correlationid instance time timestamp date'.split(' '),
  ...'createdat updatedat fetchedat requestedat expiresat took duration'.split(' '),
  ...'documentation docs version'.split(' '),
]);
/** What it says of a failure, too: a record may have a title, for one. */
const OF_FAILURES: ReadonlySet<string> = new Set([
  ...OF_CALLS,
  ...'state detail details title type reason path'.split(' '),
]);
const NONE: ReadonlySet<string> = new Set();

/** Whether a value has nothing beside blanks, members of these names, and this text. */
function isNothing(value: unknown, names: ReadonlySet<string> = NONE, text?: string): boolean {
  if (!isJsonObject(value)) return isBlank(value);
  for (const name in value) {
    const one = value[name];
    const isOfCall = names.has(plainName(name)) || isBlank(one) || one === text;
    if (!isOfCall && !(isJsonObject(one) && isNothing(one, names, text))) return false;
  }
  return true;
}

function isBlank(one: unknown): boolean {
  if (one === null || one === '') return true;
  return typeof one === 'object' && Object.keys(one).length === 0;
}

function isFailure([given, one]: readonly [string, unknown]): boolean {
  const name = plainName(given);
  if (/^(error|fault|exception)/.test(name)) {
    return !isBlank(one) && one !== false && one !== 0 && one !== '0';
  }
  if (/^(ok|success|succeeded)$/.test(name)) return one === false || one === 'false';
  return (
    OF_STATUS.has(name) && (Number(one) >= 400 || /^(error|fail(ed|ure)?)$/i.test(String(one)))
  );
}

/** So many redirects are followed, one after the other. */
export const MAX_REDIRECTS = 3;

function meaningOfRedirect(evidence: Evidence): Meaning {
  const { response, origin, path, domain, followsSigned = false } = evidence;
  const { httpStatus, headers } = response;
  const reason = `http_${httpStatus}` as const;
  const asked = new URL(path, origin);
  const { location } = headers;
  if (typeof location !== 'string' || !URL.canParse(location, asked.href)) {
    return plainly('failed', evidence);
  }
  const target = new URL(location, asked);
  const place = target.pathname + target.search;
  const follow = (to: string): Meaning => {
    const form = formOf(evidence);
    return { kind: 'redirect', reason, path: to, httpStatus, fingerprint: `${httpStatus}`, form };
  };
  if (target.origin !== origin) {
    // The credential goes to the origin it was given for, and to no other.
    const isSafe = target.protocol === 'https:' || target.protocol === asked.protocol;
    if (followsSigned && isSafe) return follow(target.href);
    return plainly('away', evidence, 'redirect_to_another_origin');
  }
  const text = decode(place).toLowerCase();
  const isNamed = text.includes(domain) || text.includes(domainToUnicode(domain));
  if (isNamed || isAboutAnother(target, asked, domain)) return follow(place);
  // What answers elsewhere answers the same to all.
  return plainly('away', evidence, 'redirect_without_domain');
}

/**
 * Whether a target asks what was asked, but about another domain: the one that a company has now.
 */
function isAboutAnother(target: URL, asked: URL, domain: string): boolean {
  const isOther = (was: string, is: string | null | undefined): boolean =>
    was === is || (was === domain && HOST.test(is ?? ''));
  const segments = target.pathname.split('/');
  const wereSegments = asked.pathname.split('/');
  return (
    segments.length === wereSegments.length &&
    wereSegments.every((was, at) => isOther(was, segments[at])) &&
    [...asked.searchParams].every(([name, was]) => isOther(was, target.searchParams.get(name)))
  );
}

const HOST = /^(?:[a-z0-9-]{1,63}\.){1,10}[a-z][a-z0-9-]{1,62}$/i;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Broken JSON is still meant as JSON: it has an object somewhere, such as behind a warning. */
function formOf({ body }: Evidence): Form {
  const text = body.text.trim();
  if (text === '') return 'empty';
  return /^["[{]/.test(text) || /\{\s*"/.test(text) || body.rounded !== undefined ? 'json' : 'page';
}

/** So much of what an API wrote is kept. */
const SAID_LENGTH = 200;

/** What the API wrote. An unknown domain needs no words of its own, unless a rule finds some. */
function saidIn(kind: PlainKind, { body, rule }: Evidence): string | undefined {
  if (rule?.said !== undefined) return rule.said;
  return kind === 'not_found' || kind === 'pending' ? undefined : lineOf(body.text);
}

function lineOf(body: string): string | undefined {
  const text = body.slice(0, COMPARED_LENGTH).replaceAll(/<[^<>]*>|\s+/g, ' ');
  const line = text.replaceAll(/ {2,}/g, ' ').trim();
  return Array.from(line).slice(0, SAID_LENGTH).join('') || undefined;
}

/**
 * The words of a text, without the domain and all that differs from call to call: words with
 * digits.
 */
function wordsOf(text: string, domain: string): string {
  let same = text.toLowerCase().replaceAll(/\s+/g, ' ');
  for (const name of [domain, domainToUnicode(domain)]) same = same.replaceAll(name, '·');
  const label = domain.slice(0, Math.max(0, domain.indexOf('.')));
  if (label.length >= 3) same = same.replaceAll(label, '·');
  return same.replaceAll(/[\w.:+-]+/g, (word) => (/\d/.test(word) ? '·' : word));
}
