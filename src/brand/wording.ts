import { domainToUnicode } from 'node:url';

// What the words of an answer say, whatever its status: that it is about the moment, the quota or
// the path; whether they name the company; and which of them differ from call to call.
//
// A gap between two words has no quotes and no full stop, so that both are of one sentence.

/** How refusals say that calls were too many, in words or as a code. */
const TOO_MANY =
  /too.?many.?(?:requests|calls)|rate.?limit(?:ed|ing|[^"'.;,:{}]{0,20}(?:exceed|reach|hit|error))|(?:exceed|reach|hit)[^"'.;,:{}]{0,30}rate.?limit|throttl(?:ed|ing)/i;
/** How they say that the quota is used up, which may come with any refusal. */
const USED_UP =
  /(?<![a-z])(?:quota|usage|credits?|allowance)[^"'.;,:{}]{0,25}(?:exceeded|reached|exhausted|used.up|depleted)|(?<![a-z])(?:exceed(?:ed|s)?|reached|exhausted|used.up|out.of|insufficient|enough|no.more|no)(?![a-z])[^"'.;,:{}]{0,25}(?<![a-z])(?:quota|credits)(?![a-z])|over.?quota/i;
/** How they say that the API is not there for now. */
const IS_OUT =
  /(?:in|under|for|scheduled|planned).maintenance|maintenance.(?:mode|window|in progress)|"maintenance"|temporarily.(?:unavailable|down|out|offline)|try again later/i;
/** How routers and gateways say that they do not know the path. */
const OF_PATH =
  /\bno route\b|\broute (?:is )?(?:not found|unknown)|\bunknown (?:route|endpoint|path)\b|\bno (?:such|matching) (?:route|endpoint|path)\b|cannot get \/|\b(?:requested url|endpoint|path)\b[^"'.;,{}]{0,30}(?:not found|does not exist)|no healthy upstream|default backend/i;

/** What a refusal is about, as far as it says so in words. */
export function aboutInWords(said: string): 'too_many' | 'used_up' | 'out' | undefined {
  // The address of a page about limits may stand in any refusal.
  const text = said.replaceAll(/\bhttps?:\S+/gi, '');
  if (TOO_MANY.test(text)) return 'too_many';
  if (USED_UP.test(text)) return 'used_up';
  return IS_OUT.test(text) ? 'out' : undefined;
}

/** Whether a text says that it is the path that is not known. */
export function isAboutPath(said: string): boolean {
  return OF_PATH.test(said);
}

/** Whether a text names a domain, or the company by the first part of it. */
export function namesCompany(text: string, domain: string): boolean {
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

/** The words of a text, without the domain and all that differs from call to call. */
export function wordsOf(said: string, domain: string): string {
  let same = onOneLine(withoutCall(said)).toLowerCase();
  for (const name of [domain, domainToUnicode(domain)]) same = same.replaceAll(name, '·');
  const label = labelOf(domain);
  if (label.length >= SHORTEST_LABEL) {
    same = same.replaceAll(new RegExp(`(?<![\\p{L}\\d])${label}(?![\\p{L}\\d])`, 'gu'), '·');
  }
  return same.replaceAll(CHANGING, '·');
}

/** Numbers, times, UUIDs and other identifiers: any word with a digit in it. */
const CHANGING = /[\w.:+-]*\d[\w.:+-]*/g;

export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** A text without what differs from call to call: the members of its JSON that are times or identifiers. */
export function withoutCall(text: string): string {
  return text.replaceAll(MEMBER, (member, name: string) =>
    isOfCall(name) ? `"${name}":"·"` : member,
  );
}

/** A member of a JSON object whose value is a text or a number. */
const MEMBER = /"([^"\\]{1,40})"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)/g;

/** Whether a member has a name that is given to identifiers of calls, and to times. */
export function isOfCall(name: string): boolean {
  return OF_CALL.test(name) || OF_CALL_IN_CAPITALS.test(name);
}

const OF_CALL =
  /(?:^|[-_. ])(?:id|uuid|guid|ref|reference|trace|span|nonce|request|correlation|instance|time|timestamp|ts|date|at|took|elapsed|duration)$/i;
const OF_CALL_IN_CAPITALS =
  /[a-z](?:I[dD]|U[uU][iI][dD]|Ref|Reference|Trace|Time|Timestamp|Date|At|Took|Duration)$/;
