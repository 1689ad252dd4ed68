import { isUtf8 } from 'node:buffer';
import { domainToUnicode } from 'node:url';
import type { LimitHints } from '../common/calls.ts';
import type { ApiProfile, Meaning } from './api-profile.ts';
import { type BodyText, isCharsetStrange } from './body-text.ts';
import { type Exchanged, isPackedStrangely, type ResponseHeaders } from './exchange.ts';
import {
  findRoundedJsonObject,
  isJsonObject,
  type JsonObject,
  whyNoJsonObject,
} from './json-object.ts';
import { type Limits, laterOf } from './limit-headers/find-limits.ts';
import type { Misdirection } from './outcome.ts';
import type { Shape } from './shape.ts';

/**
 * What an answer means. This file is the decision for one answer: evidence in, meaning out. What
 * only several answers together can show is decided in `worker/credence.ts`.
 *
 * | the answer is about | kinds | what follows |
 * |---|---|---|
 * | the domain | `found`, `not_found`, `rejected`, `forbidden` | kept, once it is believed |
 * | the domain, for now | `refused`, `invalid_response` | `failed` or `rejected`; another try helps little |
 * | the domain, later | `pending` | the domain is asked again when told |
 * | the caller | `unauthorized`, `quota_used_up` | the run stops; nothing is kept |
 * | the moment | `throttled`, `try_again` | waits as told, or is tried again; never kept as a verdict |
 * | the API as a whole, or this machine | `try_again` with `about` | tried again; calls stop while it lasts |
 */
export type Answer = AnswerKind & {
  /** The limits that the API states, if any. Every kind of answer may have them. */
  readonly limits?: LimitHints;
  /** Who seems to have written the answer. Absent where there was no answer. */
  readonly writer?: Writer;
  /** The sign in it that the address is wrong, if there is one. Counts in the first calls only. */
  readonly sign?: Misdirection;
  /** The rule of the API's profile that decided, from 1. Absent where none did. */
  readonly rule?: number;
  /** What it cost, in millionths of the unit that the profile names. Absent where none does. */
  readonly costMicros?: number;
  /** Whether that rule looked at more than the status, so that the API itself must have spoken. */
  readonly isSure?: boolean;
};

type AnswerKind =
  | {
      readonly kind: 'found';
      readonly httpStatus: number;
      /** The body as it came, but for secrets. */
      readonly json: string;
      /**
       * Which columns the answer has. Answers with the same columns mostly share one object here.
       * Undefined when it has too many.
       */
      readonly shape: Shape | undefined;
    }
  | { readonly kind: 'not_found'; readonly httpStatus: number }
  | {
      readonly kind: 'rejected' | 'forbidden';
      readonly httpStatus: number;
      readonly reason: string;
    }
  | { readonly kind: 'unauthorized'; readonly httpStatus: number; readonly reason: string }
  | {
      readonly kind: 'quota_used_up';
      readonly httpStatus: number;
      readonly reason: string;
      /** When the quota is renewed, in milliseconds from now, if the server said. */
      readonly retryAfterMs?: number | undefined;
    }
  | {
      readonly kind: 'pending';
      readonly httpStatus: number;
      /** When to ask again, in milliseconds from now, if the server said. */
      readonly retryAfterMs: number | undefined;
    }
  | {
      readonly kind: 'refused';
      /** Undefined when the headers of the answer were too long to be read. */
      readonly httpStatus: number | undefined;
      readonly reason: string;
    }
  | {
      readonly kind: 'invalid_response';
      readonly httpStatus: number;
      readonly reason: string;
      /** Whether the body came whole, so that the next one will hardly be another. */
      readonly isWhole?: boolean;
    }
  | {
      readonly kind: 'throttled';
      readonly httpStatus: number;
      /**
       * How long the server said to wait, if it did: from `Retry-After`, or the reset of a limit.
       */
      readonly retryAfterMs: number | undefined;
    }
  | {
      readonly kind: 'try_again';
      readonly httpStatus: number | undefined;
      readonly reason: string;
      /**
       * What the failure speaks against: the API as a whole, or this machine. Absent where it may
       * well be the domain's, such as 409.
       */
      readonly about?: 'api' | 'machine';
      /** How long to wait at least, in milliseconds, if a rule says so. */
      readonly retryAfterMs?: number | undefined;
    }
  | { readonly kind: 'redirect'; readonly httpStatus: number; readonly path: string };

/** Who wrote an answer, as far as its form shows. */
export interface Writer {
  /** The `Server` field without versions; empty when there is none. */
  readonly server: string;
  /** `page` is HTML, `text` any other text that is no JSON. */
  readonly form: 'json' | 'page' | 'text' | 'empty';
  /** The names at the top of a JSON object, without the domain; empty for other forms. */
  readonly names: readonly string[];
  /**
   * Status and body without the domain, numbers and identifiers. For refusals, and answers that tell
   * nothing.
   */
  readonly wording?: string;
  /** What a good answer tells. For `found` only. */
  readonly tells?: Tells;
}

/**
 * What a good answer tells:
 *
 * - `nothing` of any company, only what a server says of itself;
 * - `some`thing that names the company, or says so little that several may share it;
 * - a whole `record` that does not name the company that was asked about, which five different ones
 *   hardly share.
 */
export type Tells = 'nothing' | 'some' | 'record';

/** The meaning of an answer's status, before the rest of it is read. */
type StatusMeaning = Exclude<Answer['kind'], 'invalid_response'>;

/**
 * The meaning of each status. The first line that fits counts.
 *
 * `found` still depends on the body, which has to be a JSON object. `forbidden` is `rejected` until
 * five come in a row. `refused` ends the lookup as `failed` at once, because asking again cannot
 * help.
 */
const MEANINGS: readonly (readonly [
  statuses: readonly [from: number, to: number],
  StatusMeaning,
])[] = [
  [[202, 202], 'pending'],
  [[204, 205], 'not_found'], // no content
  // 203 is what a proxy has changed, or a version that is about to go. One that is not known counts
  // as 200 (RFC 9110, 15).
  [[200, 299], 'found'],
  [[300, 399], 'redirect'],
  [[401, 401], 'unauthorized'],
  [[402, 402], 'quota_used_up'],
  [[403, 403], 'forbidden'],
  [[404, 404], 'not_found'],
  [[408, 409], 'try_again'],
  [[410, 410], 'not_found'],
  [[420, 421], 'try_again'],
  [[423, 425], 'try_again'],
  [[429, 429], 'throttled'],
  [[430, 430], 'try_again'],
  [[449, 449], 'try_again'],
  [[498, 498], 'try_again'],
  [[400, 499], 'rejected'],
  [[501, 501], 'refused'],
  [[505, 505], 'refused'],
  [[500, 599], 'try_again'],
];

/** Looks a status up in the table. A status that is not in it is `refused`. */
export function meaningOf(httpStatus: number): StatusMeaning {
  const line = MEANINGS.find(([[from, to]]) => httpStatus >= from && httpStatus <= to);
  return line ? line[1] : 'refused';
}

/** All that one call has brought. */
export interface Evidence extends Exchanged {
  /** The domain that was asked. */
  readonly domain: string;
  /** What was asked: scheme, host and port, and the path. */
  readonly origin: string;
  readonly path: string;
  /** Whether the path has `/v1` twice. */
  readonly isDoubled: boolean;
  /** What the headers say on when and how often to call. */
  readonly stated: Limits | undefined;
  /** The text of the body, without secrets. */
  readonly body: BodyText;
  readonly shapeOf: (answer: JsonObject) => Shape | undefined;
  /** How the API differs from the standard. */
  readonly profile?: ApiProfile | undefined;
  /** What a rule of the profile says. */
  readonly meaning?: Meaning | undefined;
}

const REASON_LENGTH = 200;
/** Enough of an error's body to hold its reason, however it is indented. */
export const ERROR_BODY_BYTES = 4_096;

/** Decides what one answer means. */
export function judge(evidence: Evidence): Answer {
  const { stated, meaning } = evidence;
  const answer = meaning
    ? judgeMeaning(evidence, meaning)
    : (sayLater(evidence) ?? judgeStatus(evidence));
  return stated?.limits ? { ...answer, limits: stated.limits } : answer;
}

/**
 * A refusal, or a server that fails, which says "later" itself is about the moment, whatever its
 * status: it has `Retry-After`, states a limit with nothing left and its reset, or says so in its
 * body.
 */
function sayLater(evidence: Evidence): Answer | undefined {
  const { httpStatus, stated } = evidence;
  if (!MAY_SAY_LATER.has(meaningOf(httpStatus))) return undefined;
  const isFailing = httpStatus >= 500;
  // The reset of a limit is not when a server that fails is back, unless 503 is how it limits calls.
  const retryAfterMs = isFailing && httpStatus !== 503 ? stated?.retryAfterMs : laterOf(stated);
  if (retryAfterMs === undefined) return isFailing ? undefined : sayLaterInWords(evidence);
  if (isFailing && retryAfterMs === 0) return undefined;
  return { kind: 'throttled', httpStatus, retryAfterMs };
}

function sayLaterInWords(evidence: Evidence): Answer | undefined {
  const { httpStatus, body } = evidence;
  // The address of a page about limits may stand in any refusal.
  const said = body.said.slice(0, ERROR_BODY_BYTES).replaceAll(/\bhttps?:\S+/gi, '');
  if (TOO_MANY.test(said)) return { kind: 'throttled', httpStatus, retryAfterMs: undefined };
  if (USED_UP.test(said)) {
    return { kind: 'quota_used_up', httpStatus, reason: reasonFrom(evidence) };
  }
  if (!IS_OUT.test(said)) return undefined;
  return { kind: 'try_again', httpStatus, reason: 'unavailable', about: 'api' };
}

/** How refusals say that calls were too many, in words or as a code. */
const TOO_MANY =
  /too.?many.?(?:requests|calls)|rate.?limit(?:ed|ing|.{0,20}(?:exceed|reach|hit|error))|(?:exceed|reach|hit).{0,30}rate.?limit|throttl(?:ed|ing)/i;
/** How they say that the quota is used up, which may come with any refusal. */
const USED_UP =
  /(?:quota|usage|credits?|allowance).{0,30}(?:exceeded|reached|exhausted|used.up|depleted)|(?:exceed(?:ed|s)?|reached|exhausted|used.up|out.of|insufficient|not.enough|no.more|not have enough|no).{0,30}\b(?:quota|credits)\b|over.?quota/i;
/** How answers say that the API is not there for now. */
const IS_OUT =
  /(?:in|under|for|scheduled|planned).maintenance|maintenance.(?:mode|window|in progress)|"maintenance"|temporarily.(?:unavailable|down|out|offline)|try again later/i;

const MAY_SAY_LATER: ReadonlySet<StatusMeaning> = new Set(['rejected', 'forbidden', 'try_again']);

/** An answer about which a rule of the API's profile has decided. */
function judgeMeaning(evidence: Evidence, meaning: Meaning): Answer {
  const { means, waitMs, rule, isSure } = meaning;
  const { httpStatus, stated } = evidence;
  const reason = meaning.reason ?? `http_${httpStatus}`;
  // A status alone may be a gateway's: then who wrote the answer counts as ever.
  const marks = { rule, ...(isSure ? { isSure } : {}) };
  switch (means) {
    case 'found':
      return { ...judgeBody(evidence), ...marks };
    case 'not_found':
      return {
        kind: 'not_found',
        httpStatus,
        ...(isSure ? {} : { writer: writerOf(evidence) }),
        ...marks,
      };
    case 'rejected':
      return {
        kind: 'rejected',
        httpStatus,
        reason: meaning.reason ?? reasonFrom(evidence),
        ...(isSure ? {} : { writer: refuserOf(evidence) }),
        ...marks,
      };
    case 'pending':
      return {
        kind: 'pending',
        httpStatus,
        retryAfterMs: waitMs ?? stated?.retryAfterMs,
        ...marks,
      };
    case 'throttled':
      return {
        kind: 'throttled',
        httpStatus,
        retryAfterMs: waitMs ?? laterOf(stated, true),
        ...marks,
      };
    case 'quota':
      // What limits the rate says nothing of when a quota is renewed.
      return {
        kind: 'quota_used_up',
        httpStatus,
        reason: meaning.reason ?? reasonFrom(evidence),
        ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
        ...marks,
      };
    case 'unauthorized':
      return {
        kind: 'unauthorized',
        httpStatus,
        reason: meaning.reason ?? reasonFrom(evidence),
        ...marks,
      };
    case 'retry':
      return {
        kind: 'try_again',
        httpStatus,
        reason,
        ...(httpStatus >= 500 ? { about: 'api' } : {}),
        retryAfterMs: waitMs ?? stated?.retryAfterMs,
        ...marks,
      };
    case 'failed':
      return { kind: 'refused', httpStatus, reason, ...marks };
  }
}

function judgeStatus(evidence: Evidence): Answer {
  const { httpStatus, stated } = evidence;
  const kind = meaningOf(httpStatus);
  switch (kind) {
    case 'found':
      return judgeBody(evidence);
    case 'rejected':
    case 'forbidden': {
      const writer = refuserOf(evidence);
      const sign =
        writer.form === 'page' ? (httpStatus === 400 ? 'bad_request_page' : 'bot_wall') : undefined;
      return { kind, httpStatus, reason: reasonFrom(evidence), writer, ...(sign ? { sign } : {}) };
    }
    case 'not_found': {
      // An API that names a time at an unknown domain is still finding out.
      if (stated?.retryAfterMs !== undefined && httpStatus === 404) {
        return { kind: 'pending', httpStatus, retryAfterMs: stated.retryAfterMs };
      }
      const writer = writerOf(evidence);
      const sign = evidence.isDoubled
        ? 'not_found_doubled'
        : writer.form === 'page' || writer.form === 'text'
          ? 'not_found_page'
          : undefined;
      return { kind, httpStatus, writer, ...(sign ? { sign } : {}) };
    }
    case 'redirect':
      return judgeRedirect(evidence);
    case 'refused':
      return { kind, httpStatus, reason: `http_${httpStatus}` };
    case 'quota_used_up': {
      const retryAfterMs = laterOf(stated, true);
      return {
        kind,
        httpStatus,
        reason: reasonFrom(evidence),
        writer: refuserOf(evidence),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      };
    }
    case 'throttled':
      return { kind, httpStatus, retryAfterMs: laterOf(stated, true) };
    case 'pending':
      // A wall against bots has its page to say so.
      return writerOf(evidence).form === 'page'
        ? judgeBody(evidence)
        : { kind, httpStatus, retryAfterMs: stated?.retryAfterMs };
    case 'try_again':
      return {
        kind,
        httpStatus,
        reason: `http_${httpStatus}`,
        ...(httpStatus >= 500 ? { about: 'api' } : {}),
      };
    case 'unauthorized': {
      const reason = reasonFrom(evidence);
      if (USED_UP.test(reason)) return { kind: 'quota_used_up', httpStatus, reason };
      return { kind, httpStatus, reason, writer: refuserOf(evidence) };
    }
  }
}

/** A body that has to be a JSON object, because the status says that there is an answer. */
function judgeBody(evidence: Evidence): Answer {
  const { httpStatus, isCut, bodyError, bytes, body, headers } = evidence;
  if (isCut) return { kind: 'refused', httpStatus, reason: 'response_too_large' };
  const cutOff: Answer = {
    kind: 'invalid_response',
    httpStatus,
    reason: 'invalid_response',
    sign: 'no_json',
  };
  if (bodyError) return { ...cutOff, sign: 'broken_body' };
  if (evidence.profile?.data !== undefined) return judgeRecord(evidence, evidence.profile);
  const answer = foundIn(body.asUtf8(), evidence) ?? foundIn(body.inItsCharset(), evidence);
  if (answer) return answer;
  // The body is whole, but how it is written is not known here.
  const strange = isPackedStrangely(headers)
    ? 'unknown_content_encoding'
    : !isUtf8(bytes) && isCharsetStrange(headers['content-type'])
      ? 'unknown_charset'
      : undefined;
  if (strange) return { ...cutOff, reason: strange, sign: strange };
  const writer = refuserOf(evidence);
  if (writer.form === 'page' || writer.form === 'text') return { ...cutOff, writer };
  const reason = isUtf8(bytes) ? whyNoJsonObject(body.said) : body.whyNotUtf8;
  return reason === undefined ? cutOff : { ...cutOff, reason, isWhole: true, writer };
}

function foundIn(json: string | undefined, evidence: Evidence): Answer | undefined {
  const value = json === undefined ? undefined : findRoundedJsonObject(json);
  return json === undefined || value === undefined ? undefined : found(json, value, evidence);
}

/** An answer of an API whose record is a part of it. */
function judgeRecord(evidence: Evidence, profile: ApiProfile): Answer {
  const record = profile.recordOf(evidence.body.json);
  if (isJsonObject(record)) return found(JSON.stringify(record), record, evidence);
  const reason = `no record at '${profile.data}'`;
  return { kind: 'refused', httpStatus: evidence.httpStatus, reason };
}

function found(json: string, value: JsonObject, evidence: Evidence): Answer {
  const { httpStatus, headers, domain, shapeOf, meaning } = evidence;
  const tells = whatTells(json, value, domain);
  const other = meaning === undefined ? denied(value, tells, evidence) : undefined;
  if (other) return other;
  const writer: Writer = {
    server: serverOf(headers),
    form: 'json',
    names: [],
    tells,
    ...(tells === 'nothing' ? { wording: wordingOf(evidence) } : {}),
  };
  return { kind: 'found', httpStatus, json, shape: shapeOf(value), writer };
}

/** An answer that says itself that it is none, although its status says so. */
function denied(value: JsonObject, tells: Tells, evidence: Evidence): Answer | undefined {
  const { httpStatus, domain, stated } = evidence;
  const said = Object.entries(value);
  const isFailure =
    said.every(([name, one]) => isOfServer(name, one) || one === domain) && said.some(saysFailure);
  if (!isFailure && tells !== 'nothing') return undefined;
  const later = sayLaterInWords(evidence);
  if (later) return later;
  if (isFailure) {
    const reason = reasonFrom(evidence);
    return { kind: 'rejected', httpStatus, reason, writer: refuserOf(evidence) };
  }
  if (httpStatus !== 201) return undefined;
  return { kind: 'pending', httpStatus, retryAfterMs: stated?.retryAfterMs };
}

function whatTells(json: string, value: JsonObject, domain: string): Tells {
  if (namesCompany(json, domain)) return 'some';
  const said = Object.entries(value).filter(([name, one]) => !isEmpty(one) && !isOfCall(name));
  const isNothing = said.every(([name, one]) => isOfServer(name, one));
  // An identifier alone may be the company's.
  if (isNothing && (said.length > 0 || Object.values(value).every(isEmpty))) return 'nothing';
  return json.length <= LITTLE ? 'some' : 'record';
}

/** Whether a member of an answer is what a server says of itself or of the call, or is empty. */
function isOfServer(name: string, said: unknown): boolean {
  const known = name.toLowerCase();
  return (
    isEmpty(said) ||
    isOfCall(name) ||
    OF_SERVERS.has(known) ||
    (AROUND_RECORDS.has(known) && !isObject(said))
  );
}

/** In characters. */
const LITTLE = 32;
const OF_SERVERS: ReadonlySet<string> = new Set(
  'status state message msg error errors error_code errorcode error_message error_description fault exception ok success succeeded code status_code statuscode version service health healthy uptime path documentation docs meta title type reason'.split(
    ' ',
  ),
);
/** What stands around a record, where there is one. */
const AROUND_RECORDS: ReadonlySet<string> = new Set(
  'data result results info detail details'.split(' '),
);

function isEmpty(said: unknown): boolean {
  return said === null || said === '' || (isObject(said) && Object.keys(said).length === 0);
}

function isObject(said: unknown): said is object {
  return typeof said === 'object' && said !== null;
}

/** Whether a text names a domain, or the company by the first part of it. */
function namesCompany(text: string, domain: string): boolean {
  if (text.includes(domain)) return true;
  const label = labelOf(domain);
  if (label.length < SHORTEST_LABEL) return false;
  const lower = text.toLowerCase();
  return lower.includes(label) || lower.includes(label.replaceAll('-', ' '));
}

const SHORTEST_LABEL = 3;

function labelOf(domain: string): string {
  return domain.slice(0, Math.max(0, domain.indexOf('.')));
}

/** Whether a member of an answer says that it is none. */
function saysFailure([name, said]: readonly [string, unknown]): boolean {
  if (/^(errors?|error_?(code|message|description)|fault|exception)$/i.test(name)) {
    return !isEmpty(said) && said !== false && said !== 0 && said !== '0';
  }
  if (/^(ok|success|succeeded)$/i.test(name)) return said === false || said === 'false';
  if (!/^(status|state|result|code|status_?code)$/i.test(name)) return false;
  return Number(said) >= 400 || /^(error|fail(ed|ure)?|denied|forbidden|ko)$/i.test(String(said));
}

function judgeRedirect({ httpStatus, headers, origin, path, domain }: Evidence): Answer {
  const { location } = headers;
  const asked = origin + path;
  const refuse = (reason: string, sign?: Misdirection): Answer => ({
    kind: 'refused',
    httpStatus,
    reason,
    ...(sign ? { sign } : {}),
  });
  if (typeof location !== 'string' || !URL.canParse(location, asked)) {
    return refuse(`http_${httpStatus}`);
  }
  const target = new URL(location, asked);
  // The credential goes to the origin it was given for, and to no other.
  if (target.origin !== origin) {
    return refuse('redirect_to_another_origin', 'redirect_to_another_origin');
  }
  const place = target.pathname + target.search;
  // What answers there answers the same to all.
  if (!names(place, domain)) return refuse('redirect_without_domain', 'lost_domain');
  return { kind: 'redirect', httpStatus, path: place };
}

function names(place: string, domain: string): boolean {
  const text = decode(place).toLowerCase();
  return text.includes(domain) || text.includes(domainToUnicode(domain));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function reasonFrom({ body, httpStatus }: Evidence): string {
  const text = onOneLine(body.said);
  return Array.from(text).slice(0, REASON_LENGTH).join('') || `http_${httpStatus}`;
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function writerOf({ headers, body, domain }: Evidence): Writer {
  const said = body.said.slice(0, ERROR_BODY_BYTES).trim();
  const form = formOf(said, headers);
  const value = form === 'json' ? findRoundedJsonObject(said) : undefined;
  const names = Object.keys(value ?? {}).filter((name) => !name.includes(domain));
  return { server: serverOf(headers), form, names };
}

function refuserOf(evidence: Evidence): Writer {
  return { ...writerOf(evidence), wording: wordingOf(evidence) };
}

function formOf(said: string, { 'content-type': type }: ResponseHeaders): Writer['form'] {
  if (said === '') return 'empty';
  if (/^(<!--.*?-->\s*)?<(!doctype html|html|head|body)\b/is.test(said)) return 'page';
  // A warning in front of an answer, or a number that JSON does not know, makes it no page.
  if (/^[{[]/.test(said) || /\{\s*"/.test(said)) return 'json';
  if (/^<[a-z]/i.test(said)) return 'page';
  return /json/i.test(String(type)) && !said.startsWith('<') ? 'json' : 'text';
}

function serverOf({ server }: ResponseHeaders): string {
  return server === undefined
    ? ''
    : String(server)
        .toLowerCase()
        .replace(/[/(].*$/s, '')
        .trim();
}

/**
 * The access of a caller is refused by status, whatever is said besides. Elsewhere the words count,
 * without all that differs from call to call.
 */
function wordingOf({ httpStatus, body, domain }: Evidence): string {
  if (httpStatus === 403) return '403';
  const said = withoutCall(body.said.slice(0, ERROR_BODY_BYTES));
  let same = onOneLine(said).toLowerCase();
  for (const name of [domain, domainToUnicode(domain)]) same = same.replaceAll(name, '·');
  const label = labelOf(domain);
  if (label.length >= SHORTEST_LABEL) {
    same = same.replaceAll(new RegExp(`(?<![\\p{L}\\d])${label}(?![\\p{L}\\d])`, 'gu'), '·');
  }
  return `${httpStatus} ${same.replaceAll(CHANGING, '·')}`;
}

/** Numbers, times, UUIDs and other identifiers: any word with a digit in it. */
const CHANGING = /[\w.:+-]*\d[\w.:+-]*/g;

/** A text without what differs from call to call: the members of its JSON that are times or identifiers. */
export function withoutCall(text: string): string {
  return text.replaceAll(MEMBER, (member, name: string) =>
    isOfCall(name) ? `"${name}":"·"` : member,
  );
}

/** A member of a JSON object whose value is a text or a number. */
const MEMBER = /"([^"\\]{1,40})"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)/g;

/** Whether a member has a name that is given to identifiers of calls, and to times. */
function isOfCall(name: string): boolean {
  return OF_CALL.test(name) || OF_CALL_IN_CAPITALS.test(name);
}

const OF_CALL =
  /(?:^|[-_. ])(?:id|uuid|guid|ref|reference|trace|span|nonce|request|correlation|instance|time|timestamp|ts|date|at|took|elapsed|duration)$/i;
const OF_CALL_IN_CAPITALS =
  /[a-z](?:I[dD]|U[uU][iI][dD]|Ref|Reference|Trace|Time|Timestamp|Date|At|Took|Duration)$/;
