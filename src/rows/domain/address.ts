import { isIPv6 } from 'node:net';
import type { ReasonAbout } from '../../common/reasons.ts';
import { trimEdges } from './pieces.ts';

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
