import { isIPv6 } from 'node:net';
import type { ReasonAbout } from '../../common/reasons.ts';
import { meaningOfName } from '../columns/column-name.ts';
import NONE from './words-for-none.json' with { type: 'json' };

/** Why a cell holds no domain that could be asked about. */
export type InvalidReason = ReasonAbout<'row'>;

/** A cell without a domain. */
export interface InvalidDomain {
  readonly invalid: InvalidReason;
}

/** Where an address leads. Whether its host is a domain is not yet known. */
export interface Address {
  /** In its own case and script, without port and percent-encoding. */
  readonly host: string;
  /** What follows: path, query and fragment, as they are written. */
  readonly behind: string;
  readonly isEmail: boolean;
}

/** No host name, however encoded or decomposed, fits 253 ASCII characters from more than this. */
const MAX_HOST_LENGTH = 512;

/**
 * A scheme, also with a slip in it: `http//`, `htp//`, `http;//`, `https//:`, `https:/`, `https://
 * `, and `hxxp//`.
 */
const SCHEME =
  /^(?:[a-z][a-z0-9+.-]{0,40}:[\\/]{2}|[a-z][a-z0-9+-]{0,40}:[\\/]|(?:https?|ftp|wss?|mailto):|[htpsx]{3,6}[\\/]{2}:?|https?[;.,]?[\\/]|[:;]?[\\/]{2})[\\/]*\s*/i;
/** `http://https://example.com`: a scheme pasted before a whole URL. */
const REPEATED_SCHEME = /^(?:(?:www\.)?https?(?:[:;.,]?[\\/]+|:(?!\d))|:[\\/]+)\s*/i;
const AUTHORITY_END = /[\\/?#]/;
const PORT = /^[0-9]{0,5}$/;
const BRACKETED = /^\[([^\]]*)\](?::[0-9]{0,5})?$/;
/** A URL that was encoded as a whole, more than once at times. */
const ENCODED_URL = /^https?%(?:25){0,3}3a/i;

export function invalidDomain(invalid: InvalidReason): InvalidDomain {
  return { invalid };
}

/**
 * Reads one address, bare, as a URL or for e-mail. Strips scheme, credentials, port and
 * percent-encoding.
 *
 * Back slashes count as slashes, as browsers read them, so `https://a.com\@b.com` is at `a.com`.
 *
 * @see https://url.spec.whatwg.org/#host-parsing
 */
export function readAddress(text: string): Address | InvalidDomain {
  const scheme = SCHEME.exec(text)?.[0] ?? '';
  let start = scheme.length;
  for (let found = scheme; found !== ''; start += found.length) {
    found = REPEATED_SCHEME.exec(text.slice(start, start + 20))?.[0] ?? '';
  }
  const address = text.slice(start);
  if (address === '') return invalidDomain('empty');
  if (ENCODED_URL.test(address)) {
    const url = decoded(address);
    return typeof url === 'string' ? readAddress(url) : url;
  }

  const [authority = ''] = address.split(AUTHORITY_END, 1);
  const behind = address.slice(authority.length);
  if (/\s/.test(authority)) return invalidDomain('contains_space');

  const at = authority.lastIndexOf('@');
  // In a URL the last @ ends the credentials. Elsewhere two of them are two e-mail addresses.
  const isUrl = scheme !== '' && !/^mailto/i.test(scheme);
  if (!isUrl && at !== authority.indexOf('@')) return invalidDomain('malformed');
  const hostAndPort = authority.slice(at + 1).replace(/^\*\./, ''); // of all hosts below a domain
  const host = decoded(withoutPort(hostAndPort));
  if (typeof host !== 'string') return host;
  if (/\s/.test(host)) return invalidDomain('contains_space');
  if (host.length > MAX_HOST_LENGTH) return invalidDomain('malformed');
  return { host, behind, isEmail: at !== -1 && !isUrl };
}

function withoutPort(hostAndPort: string): string | InvalidDomain {
  if (hostAndPort.startsWith('[')) {
    const [, address = ''] = BRACKETED.exec(hostAndPort) ?? [];
    return isIPv6(address) ? invalidDomain('ip_address') : invalidDomain('malformed');
  }
  const colon = hostAndPort.lastIndexOf(':');
  if (colon === -1) return hostAndPort;
  if (isIPv6(hostAndPort)) return invalidDomain('ip_address');
  return PORT.test(hostAndPort.slice(colon + 1))
    ? hostAndPort.slice(0, colon)
    : invalidDomain('malformed');
}

function decoded(host: string | InvalidDomain): string | InvalidDomain {
  if (typeof host !== 'string' || !host.includes('%')) return host;
  try {
    return trimEdges(decodeURIComponent(host));
  } catch {
    return invalidDomain('malformed');
  }
}

/** Only this much of a cell is looked at; a host stands near its beginning. */
const MAX_TEXT_LENGTH = 16_384;
/** More addresses than these need not be compared. */
const MOST_PIECES = 50;

const EDGES = '"\'`=,;|\x7f';
const EDGES_AND_BRACKETS = `${EDGES}()[]{}<>`;
/** What is not in ASCII. */
const EDGE = /[\s\p{Cc}\p{Cf}\p{Quotation_Mark}´′″]/u;

/**
 * Dashes, zero, errors of spreadsheets: `#REF!`, `#DIV/0!`, `#NOM?`; and what a form begins with.
 */
const SIGNS_FOR_NOTHING =
  /^(?:0+(?:[.,]0+)?|[\p{Pd}_?.*~/]+|#[\p{L}/0_]+[!?]?|(?:https?:\/*)?www\.?)$/iu;

/**
 * `words-for-none.json` has words for nothing, of programs and people, among them the booleans of
 * formulas; words for `no`, with what there is none of behind them; and what says that it has
 * ended.
 */
const WORDS = new Set(NONE.words);
const ENDED = new Set(NONE.ended);

/**
 * Whether a cell says that there is nothing in it: `N/A`, `null`, `-`, `0`, `#REF!`, `no website`.
 */
export function isNothing(text: string): boolean {
  const bare = trimEdges(text, EDGES_AND_BRACKETS).toLowerCase();
  const whole = text.length < 40 ? bare : '';
  if (ENDED.has(whole)) return true;
  const no = NONE.no.find((word) => `${whole} `.startsWith(`${word} `));
  const what = no && whole.slice(no.length).trim();
  if (what === '' || (what && meaningOfName(what).kind !== undefined)) return true;
  return bare
    .split(/[\s,;|<>]+/)
    .every((word) => word === '' || WORDS.has(word) || SIGNS_FOR_NOTHING.test(word));
}

/** `acme[.]com`, so that nobody clicks on it; `jo (at) acme (dot) com`, so that no robot writes. */
const DEFANGED_DOT = /\s{0,5}[[({](?:\.|dot)[\])}]\s*/gi;
const DEFANGED_AT = /\s{0,5}[[({](?:@|at)[\])}]\s*/gi;
/** `Website: acme.com` */
const LABEL = /^(\p{L}[\p{L} -]{0,19})[:\uff1a](?!\d|[\\/]{1,2})\s*/u;

/**
 * A cell without the quotes and signs at its ends, without tags of HTML, and what names its kind.
 */
export function bareText(text: string): string {
  const plain = text
    .slice(0, MAX_TEXT_LENGTH)
    .replaceAll('&amp;', '&')
    .replaceAll(/&nbsp;|<\/?[a-z]+\s*\/?>/gi, ' ')
    .replaceAll(DEFANGED_DOT, '.')
    .replaceAll(DEFANGED_AT, '@');
  const trimmed = trimEdges(plain);
  if (/^[[\s]*\{/.test(trimmed)) return addressesInObject(trimmed) || trimmed;
  return trimmed.replace(LABEL, (whole, label: string) =>
    meaningOfName(label).isPlain ? '' : whole,
  );
}

/**
 * The texts in `{"url":"https://acme.com"}` that may be addresses, also with the quotes of Python.
 */
function addressesInObject(text: string): string {
  const quoted = Array.from(text.matchAll(/"([^"]*)"|'([^']*)'/g), ([, one, two]) => one ?? two);
  return quoted.filter((value) => /^\s*\S+\.\S+\s*$/.test(value ?? '')).join(' ');
}

/**
 * What stands between the words of a cell, whatever wrote it: lists, formulas, links of Markdown
 * and HTML, and those of Access, `text#address#place in it#`.
 */
const BETWEEN = /[\s,;|、<>()[\]{}"']+|(?<!#)#+(?=https?:|www\.)/i;

/** The words of a cell that may be addresses. One without a letter is a sign or a number. */
export function piecesOf(text: string): readonly string[] {
  return text
    .split(BETWEEN, MOST_PIECES)
    .filter((piece) => /\p{L}/u.test(piece) && !isNothing(piece));
}

/** Whether a word cannot be meant as anything but an address, whatever is around it. */
export function isExplicit(piece: string): boolean {
  return /^(?:https?:|www\.)|@/i.test(piece);
}

/** Removes white space, controls, invisible marks, quotes and separators at both ends. */
function trimEdges(text: string, signs = EDGES): string {
  let start = 0;
  let end = text.length;
  while (isEdge(text, start, signs)) start += 1;
  while (isEdge(text, end - 1, signs)) end -= 1;
  return text.slice(start, end);
}

function isEdge(text: string, index: number, signs: string): boolean {
  const code = text.charCodeAt(index);
  return code < 0x80
    ? code <= 0x20 || signs.includes(text.charAt(index))
    : EDGE.test(text.charAt(index));
}
