import { isIPv6 } from 'node:net';

/** Why a cell holds no domain that could be asked about. */
export type InvalidReason =
  /** nothing but white space and quotes, or a scheme with nothing behind it */
  | 'empty'
  /** an IPv4 or IPv6 address, with or without brackets and port */
  | 'ip_address'
  /** one label only: `localhost`, `n/a`, `Acme` */
  | 'single_label'
  /** a registry's name, not anybody's own: `co.uk` */
  | 'public_suffix'
  /** a label of more than 63 characters in ASCII */
  | 'label_too_long'
  /** more than 253 characters in ASCII */
  | 'domain_too_long'
  /** white space inside: a company name, or two domains in one cell */
  | 'contains_space'
  /** no such top-level domain on the public Internet: `shop.local` */
  | 'unknown_tld'
  /** an e-mail address at a domain where anybody can have one: `jo@gmail.com` */
  | 'free_mail'
  /** not the cell but its row: it has more cells than the header, so they may be shifted */
  | 'too_many_cells'
  /** anything else: illegal characters, empty labels, hyphens at the edge of a label */
  | 'malformed';

/** A cell without a domain. One frozen object per reason, so a bad row allocates nothing. */
export interface InvalidDomain {
  readonly invalid: InvalidReason;
}

/** No host name, however encoded or decomposed, fits 253 ASCII characters from more than this. */
const MAX_HOST_LENGTH = 512;
/** Only this much of a cell is looked at; a host stands near its beginning. */
const MAX_TEXT_LENGTH = 16_384;

const EDGE = /[\s\p{Cc}\p{Cf}\p{Quotation_Mark}`´′″]/u;
const SCHEME =
  /^(?:[a-z][a-z0-9+.-]{0,40}:[\\/]{2}|[a-z][a-z0-9+-]{0,40}:[\\/]|(?:https?|ftp|wss?|mailto):|:?[\\/]{2})[\\/]*/i;
/** `http://https://example.com`: a scheme pasted before a whole URL. */
const REPEATED_SCHEME = /^https?:[\\/]+/i;
const AUTHORITY_END = /[\\/?#]/;
const SECOND_ADDRESS = /\s(?:https?:[\\/]{2}|www\.)/i;
const PORT = /^[0-9]{0,5}$/;
const BRACKETED = /^\[([^\]]*)\](?::[0-9]{0,5})?$/;

const invalid: Readonly<Record<InvalidReason, InvalidDomain>> = Object.freeze({
  empty: Object.freeze({ invalid: 'empty' }),
  ip_address: Object.freeze({ invalid: 'ip_address' }),
  single_label: Object.freeze({ invalid: 'single_label' }),
  public_suffix: Object.freeze({ invalid: 'public_suffix' }),
  label_too_long: Object.freeze({ invalid: 'label_too_long' }),
  domain_too_long: Object.freeze({ invalid: 'domain_too_long' }),
  contains_space: Object.freeze({ invalid: 'contains_space' }),
  unknown_tld: Object.freeze({ invalid: 'unknown_tld' }),
  free_mail: Object.freeze({ invalid: 'free_mail' }),
  too_many_cells: Object.freeze({ invalid: 'too_many_cells' }),
  malformed: Object.freeze({ invalid: 'malformed' }),
});

/** The shared object for a reason. */
export function invalidDomain(reason: InvalidReason): InvalidDomain {
  return invalid[reason];
}

/**
 * Finds the host in a cell: strips quotes, scheme, credentials, port, path and percent-encoding.
 * The host still has its own case and script; whether it is a domain is not yet known.
 *
 * Back slashes count as slashes, as browsers read them, so `https://a.com\@b.com` is at `a.com`.
 *
 * @see https://url.spec.whatwg.org/#host-parsing
 */
export function findHost(text: string): string | InvalidDomain {
  const trimmed = unwrapAngles(trimEdges(text)).slice(0, MAX_TEXT_LENGTH);
  if (trimmed === '') return invalid.empty;
  const scheme = SCHEME.exec(trimmed)?.[0] ?? '';
  const address = trimmed.slice(scheme.length).replace(REPEATED_SCHEME, '');
  if (address === '') return invalid.empty;

  const end = address.search(AUTHORITY_END);
  const authority = end === -1 ? address : address.slice(0, end);
  if (/\s/.test(authority) || (end !== -1 && SECOND_ADDRESS.test(address.slice(end)))) {
    return invalid.contains_space;
  }

  const at = authority.lastIndexOf('@');
  // In a URL the last @ ends the credentials. Elsewhere two of them are two e-mail addresses.
  const isUrl = scheme !== '' && !/^mailto/i.test(scheme);
  if (!isUrl && at !== authority.indexOf('@')) return invalid.malformed;
  return withoutPort(at === -1 ? authority : authority.slice(at + 1));
}

function withoutPort(hostAndPort: string): string | InvalidDomain {
  if (hostAndPort.startsWith('[')) {
    return isAddress6(BRACKETED.exec(hostAndPort)?.[1]) ? invalid.ip_address : invalid.malformed;
  }
  const colon = hostAndPort.lastIndexOf(':');
  if (colon === -1) return decoded(hostAndPort);
  if (isAddress6(hostAndPort)) return invalid.ip_address;
  if (!PORT.test(hostAndPort.slice(colon + 1))) return invalid.malformed;
  return decoded(hostAndPort.slice(0, colon));
}

function decoded(encoded: string): string | InvalidDomain {
  let host = encoded;
  if (encoded.includes('%')) {
    try {
      host = decodeURIComponent(encoded);
    } catch {
      return invalid.malformed;
    }
    if (/\s/.test(host)) return invalid.contains_space;
  }
  if (host === '') return invalid.malformed;
  return host.length > MAX_HOST_LENGTH ? invalid.domain_too_long : host;
}

function isAddress6(text: string | undefined): boolean {
  return text !== undefined && text.length <= 64 && isIPv6(text);
}

/** `Jane Doe <jane@example.com>` and `<https://example.com>`, if there is only one such. */
function unwrapAngles(text: string): string {
  if (!text.endsWith('>') || text.indexOf('>') !== text.length - 1) return text;
  const open = text.lastIndexOf('<');
  return open === -1 ? text : trimEdges(text.slice(open + 1, -1));
}

function trimEdges(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isEdge(text, start)) start += 1;
  while (end > start && isEdge(text, end - 1)) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

/** White space, controls, invisible marks and quotes, which spreadsheets and copying leave behind. */
function isEdge(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  if (code <= 0x20) return true;
  return !(code >= 0x61 && code <= 0x7a) && EDGE.test(text.charAt(index));
}
