import { createRequire } from 'node:module';
import { parse } from 'tldts';
import { findHost, type InvalidDomain, type InvalidReason, invalidDomain } from './find-host.ts';

export type { InvalidDomain, InvalidReason };

/** The content of a cell: the lookup key, or the reason why there is none. */
export type NormalizedDomain = { readonly domain: string } | InvalidDomain;

export interface NormalizeOptions {
  /**
   * Reduce to the registrable domain: `a.b.example.co.uk` becomes `example.co.uk`. A name under a
   * suffix that a company lends out stays its tenant's, `foo.github.io`, for the brand of
   * `github.io` would be the wrong one.
   *
   * @default false
   */
  readonly registrable?: boolean;
}

/** Hosts that only need lower case. An `xn--` label is not plain: it must be decoded to be checked. */
const PLAIN_HOST = /^[a-z0-9._-]{1,254}$/i;
const ACE_LABEL = /(?:^|\.)xn--/i;
const IPV4_FORM = /^(?:(?:0x[0-9a-f]*|[0-9]+)(?:\.|$)){4}$/;
const IDNA = { checkBidi: true, checkHyphens: false, checkJoiners: true };
const ICANN_ONLY = { extractHostname: false, detectIp: false, allowPrivateDomains: false };
const WITH_PRIVATE = { extractHostname: false, detectIp: false, allowPrivateDomains: true };

/**
 * Turns a cell into the key of a lookup: lower case, ASCII, no scheme, path, port, `www.` or
 * trailing dot. Takes bare domains, URLs with or without a scheme, e-mail addresses and
 * internationalised names.
 *
 * Never throws, whatever the text, and gives a domain it made back unchanged. The key is at least
 * one label below a public suffix of the ICANN section. Underscores pass in the labels of a
 * subdomain, where they are in use; no registry sells one.
 *
 * @example
 * ```ts
 * normalizeDomain('"HTTPS://www.Müller.de/impressum"'); // { domain: 'xn--mller-kva.de' }
 * normalizeDomain('co.uk'); // { invalid: 'public_suffix' }
 * ```
 * @see https://www.unicode.org/reports/tr46/ (non-transitional, CheckBidi, CheckJoiners)
 * @see https://publicsuffix.org/list/
 */
export function normalizeDomain(text: string, options?: NormalizeOptions): NormalizedDomain {
  const found = PLAIN_HOST.test(text) ? text : findHost(text);
  if (typeof found !== 'string') return found;
  const ascii = toAsciiHost(found);
  if (ascii === undefined) return invalidDomain(looksDotless(found) ? 'single_label' : 'malformed');
  const host = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  const fault = faultOfHost(host);
  if (fault !== undefined) return invalidDomain(fault);
  return withinRegistry(host, options?.registrable === true);
}

function toAsciiHost(host: string): string | undefined {
  if (PLAIN_HOST.test(host) && !ACE_LABEL.test(host)) return host.toLowerCase();
  try {
    return idna().toASCII(host, IDNA) ?? undefined;
  } catch {
    return undefined; // a lone surrogate, or Punycode that overflows
  }
}

let loaded: typeof import('tr46') | undefined;

/** Loaded for the first name that is not plain: its tables take longer than a short list. */
function idna(): typeof import('tr46') {
  loaded ??= createRequire(import.meta.url)('tr46') as typeof import('tr46');
  return loaded;
}

function looksDotless(host: string): boolean {
  return !/[.\u3002\uff0e\uff61]/.test(host);
}

/**
 * Finds what keeps a lower-case ASCII name from being a host name. There may be further faults
 * behind the first.
 */
function faultOfHost(host: string): InvalidReason | undefined {
  if (!host.includes('.')) return host === '' ? 'malformed' : 'single_label';
  let labelTooLong = false;
  let labelStart = 0;
  let before = DOT;
  for (let i = 0; i <= host.length; i += 1) {
    const code = i === host.length ? DOT : host.charCodeAt(i);
    if (code === DOT) {
      if (before === DOT || before === HYPHEN) return 'malformed';
      if (i - labelStart > 63) labelTooLong = true;
      labelStart = i + 1;
    } else if (code === HYPHEN) {
      if (before === DOT) return 'malformed';
    } else if (!isHostCharacter(code)) {
      return 'malformed';
    }
    before = code;
  }
  if (labelTooLong) return 'label_too_long';
  if (host.length > 253) return 'domain_too_long';
  return IPV4_FORM.test(host) ? 'ip_address' : undefined;
}

const DOT = 0x2e;
const HYPHEN = 0x2d;
const UNDERSCORE = 0x5f;

function isHostCharacter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === UNDERSCORE;
}

function withinRegistry(host: string, registrable: boolean): NormalizedDomain {
  const { domain, isIcann, publicSuffix } = parse(host, ICANN_ONLY);
  // .onion is in the list's ICANN section, but no such name is in the DNS (RFC 7686).
  if (isIcann !== true || publicSuffix === 'onion') return invalidDomain('unknown_tld');
  if (domain === null) return invalidDomain('public_suffix');
  if (host.lastIndexOf('_') >= host.length - domain.length) return invalidDomain('malformed');
  const bare = withoutWww(host, domain);
  return { domain: registrable ? (parse(bare, WITH_PRIVATE).domain ?? domain) : bare };
}

/** Removes `www.` if something registrable remains: `www.com` and `www.co.uk` are names. */
function withoutWww(host: string, domain: string): string {
  let start = 0;
  while (host.length - start > domain.length && host.startsWith('www.', start)) start += 4;
  return start === 0 ? host : host.slice(start);
}
