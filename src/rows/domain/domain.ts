import { createRequire } from 'node:module';
import { domainToASCII, domainToUnicode } from 'node:url';
import { parse } from 'tldts';
import { meaningOfName } from '../columns/column-name.ts';
import {
  type Address,
  bareText,
  type InvalidDomain,
  type InvalidReason,
  invalidDomain,
  isExplicit,
  isNothing,
  piecesOf,
  readAddress,
} from './address.ts';
import FREE_MAIL from './free-mail.json' with { type: 'json' };
import HOSTS from './shared-hosts.json' with { type: 'json' };

export type { InvalidDomain };

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
  readonly registrable?: boolean | undefined;
}

/** A domain, and what its cell says of it. */
interface FoundDomain {
  readonly domain: string;
  /** As in the cell, before it is reduced. */
  readonly host: string;
  /** It was in an e-mail address. */
  readonly isEmail: boolean;
  /** It was in the address of a page that is not the domain owner's. */
  readonly isShared: boolean;
  /**
   * How many words stand beside it that are no address. Those of markup do not count.
   *
   * @default 0
   */
  readonly words?: number;
}

/**
 * Turns a cell into the key of a lookup: lower case, ASCII, no scheme, path, port, `www.` or
 * trailing dot. Takes bare domains, URLs with or without a scheme, e-mail addresses and
 * internationalised names, links of Markdown, HTML, Access and spreadsheets, words around an
 * address, lists that agree on one domain. A link that leads elsewhere is followed where its target
 * stands in it.
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
 * @see https://publicsuffix.org/list/
 */
export function normalizeDomain(text: string, options?: NormalizeOptions): NormalizedDomain {
  const found = readCell(text, options?.registrable === true);
  return 'domain' in found ? { domain: found.domain } : found;
}

/** Reads the domain in a cell of one column. */
export type DomainReader = (cell: string) => NormalizedDomain;

export interface DomainReaderOptions extends NormalizeOptions {
  /** The column that the cells belong to. */
  readonly column: { readonly name: string };
}

/**
 * Makes a reader of a column. A domain at which anybody can have an e-mail address says nothing
 * about the company of such an address. So these addresses are invalid, in whatever column. Such
 * domains alone are invalid too, in a column that is named for e-mail (`Email Domain`). A website
 * at such a domain is valid. Pages on hosts that many share are invalid in the same way; such a
 * host alone is its owner's.
 */
export function createDomainReader({
  column,
  registrable = false,
}: DomainReaderOptions): DomainReader {
  const isNamedForEmail = meaningOfName(column.name).kind === 'email';
  return (cell) => {
    const found = readCell(cell, registrable);
    if ('invalid' in found) return found;
    const { domain, host, isEmail, isShared } = found;
    if (isShared) return invalidDomain('shared_host');
    // Some of these domains are below the registrable part, such as those of one city.
    const isFree = (isEmail || isNamedForEmail) && (isFreeMail(domain) || isFreeMail(host));
    return isFree ? invalidDomain('free_mail') : { domain };
  };
}

/** As {@link normalizeDomain}, with what the cell says of the domain. */
export function readCell(text: string, registrable: boolean): FoundDomain | InvalidDomain {
  if (text === '') return EMPTY;
  const found = PLAIN_HOST.test(text) ? resolveHost(text) : readText(text);
  if ('invalid' in found) return isNothing(text) ? EMPTY : found;
  return { ...found, domain: registrable ? reduce(found) : found.host };
}

/** A name in the DNS. */
interface Resolved extends Omit<FoundDomain, 'domain'> {
  /** One label below a public suffix of the ICANN section. */
  readonly registered: string;
}

/** Most URLs: nothing around them, and nothing behind them but a path. */
const PLAIN_URL = /^https?:\/\/([a-z0-9._-]{1,254})((?:[/?][^\s,;|<>"'#]*)?)$/i;
/** Most other cells: one address and nothing else. */
const BARE = /^(?:https?:)?[\w/][\w.@/?%+~$!*=&-]*[\w/]$/;
/**
 * A formula as text, and the one function that has an address in its first argument, in languages.
 */
const CALL = /^'?=\s*(?:_xlfn\.)?([\p{L}._]+)\(/u;
const HYPERLINK = /^(?:hyper|hiper|lien_|colleg|k[oö]pr|гипер)/iu;
/** `[Acme](https://acme.com)`, `<a href=…>`, `Jo <jo@acme.com>`, `Acme#https://acme.com#`. */
const MARKUP = /<|\]\(|#https?:/;
/** How many links within links are followed. */
const MOST_LINKS = 5;

/**
 * Reads a cell that may have more in it than an address. Its words count if all of them are
 * domains, or if one is clearly an address; then all domains among them have to agree.
 */
function readText(text: string): Resolved | InvalidDomain {
  const [, called] = CALL.exec(text) ?? [];
  if (called !== undefined && !HYPERLINK.test(called)) return invalidDomain('malformed');
  const [, host, behind = ''] = PLAIN_URL.exec(text) ?? [];
  if (host?.includes('.')) return resolve({ host, behind, isEmail: false }, 0);
  if (BARE.test(text)) return readOne(text);
  const whole = bareText(text);
  const pieces = piecesOf(whole);
  const all = domainsAmong(pieces);
  const isList = all.length === pieces.length || domainsAmong(pieces.filter(isExplicit)).length > 0;
  const found = (isList ? oneOf(all) : undefined) ?? readOne(whole);
  const words = MARKUP.test(whole) ? 0 : pieces.length - all.length;
  return 'host' in found && isList && words > 0 ? { ...found, words } : found;
}

function domainsAmong(texts: readonly string[]): readonly Resolved[] {
  return texts.map((text) => readOne(text)).filter((one) => 'host' in one);
}

function readOne(text: string, links = 0): Resolved | InvalidDomain {
  const address = readAddress(text);
  return 'invalid' in address ? address : resolve(address, links);
}

function resolve({ host, behind, isEmail }: Address, links: number): Resolved | InvalidDomain {
  const found = resolveHost(host);
  if ('invalid' in found) return found;
  return isEmail ? { ...found, isEmail } : follow(found, behind, links);
}

/** Goes where a link leads that wraps another, if that can be told. */
function follow(found: Resolved, behind: string, links: number): Resolved {
  const targets = findSharedPage(found.host, found.registered, behind);
  if (targets === undefined) return found;
  for (const target of links < MOST_LINKS ? targets : []) {
    const there = readOne(target, links + 1);
    if ('host' in there) return there;
  }
  return { ...found, isShared: true };
}

/**
 * What several addresses agree on, if there are any; those that say nothing of a company have no
 * say.
 */
function oneOf(all: readonly Resolved[]): Resolved | InvalidDomain | undefined {
  const own = all.filter(isOwn);
  const [first, ...others] = own.length > 0 ? own : all;
  if (first === undefined || others.every(({ host }) => host === first.host)) return first;
  const reduced = reduce(first);
  return others.every((one) => reduce(one) === reduced)
    ? { ...first, host: reduced }
    : invalidDomain('several_domains');
}

/** Whether an address says something about its company; one beside it may not. */
function isOwn({ host, isEmail, isShared }: Resolved): boolean {
  return !isShared && !(isEmail && isFreeMail(host));
}

const ICANN_ONLY = { extractHostname: false, detectIp: false, allowPrivateDomains: false };
const WITH_PRIVATE = { extractHostname: false, detectIp: false, allowPrivateDomains: true };

function resolveHost(text: string): Resolved | InvalidDomain {
  const ascii = toAsciiHost(text);
  if (ascii === undefined)
    return invalidDomain(text === '' || mayHaveDot(text) ? 'malformed' : 'single_label');
  const host = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  const fault = faultOfHost(host);
  if (fault !== undefined) return invalidDomain(fault);
  const { domain, isIcann, publicSuffix } = parse(host, ICANN_ONLY);
  // .onion is in the list's ICANN section, but no such name is in the DNS (RFC 7686).
  if (isIcann !== true || publicSuffix === 'onion') return invalidDomain('unknown_tld');
  if (domain === null) return invalidDomain('public_suffix');
  if (host.lastIndexOf('_') >= host.length - domain.length) return invalidDomain('malformed');
  return { host: withoutWww(host, domain), registered: domain, isEmail: false, isShared: false };
}

function reduce({ host, registered }: Resolved): string {
  return parse(host, WITH_PRIVATE).domain ?? registered;
}

const EMPTY = invalidDomain('empty');

/** Also in another script, or percent-encoded. */
function mayHaveDot(text: string): boolean {
  return /[.\u3002\uff0e\uff61%\u2024]/.test(text);
}

const IPV4_FORM = /^(?:(?:0x[0-9a-f]*|[0-9]+)(?:\.|$)){4}$/;

const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/;

/** Finds what keeps a lower-case ASCII name from being a host name. */
function faultOfHost(host: string): InvalidReason | undefined {
  if (!host.includes('.')) return host === '' ? 'malformed' : 'single_label';
  if (!LABELS.test(host) || host.length > 253) return 'malformed';
  return IPV4_FORM.test(host) ? 'ip_address' : undefined;
}

/** Removes `www.` if something registrable remains: `www.com` and `www.co.uk` are names. */
function withoutWww(host: string, domain: string): string {
  let start = 0;
  while (host.length - start > domain.length && host.startsWith('www.', start)) start += 4;
  return host.slice(start);
}

/**
 * Hosts that only need lower case. An `xn--` label is not plain: it must be decoded to be checked.
 */
const PLAIN_HOST = /^[a-z0-9._-]{1,254}$/i;
const ACE_LABEL = /(?:^|\.)xn--/i;
/** What word processors and people put for a hyphen: dashes of all lengths, the minus sign. */
const LIKE_A_HYPHEN = /[\p{Pd}\u2043\u02d7\u207b\u208b\u2212]/gu;
/**
 * `acme™.com`: UTS #46 would read the sign as letters. RFC 5895, the mapping for IDNA2008, maps
 * case and width only.
 */
const SIGN = /[^\p{ASCII}](?<=[\p{S}\p{No}])/u;
/** What is no part of a host, so that Node would take what is before it. */
const NO_HOST = /[^\P{ASCII}\w.-]/u;
/** What registries sell in a label: letters, digits and their marks (RFC 5892 in short). */
const ALLOWED = /^(?:[\p{L}\p{M}\p{Nd}._\u00b7\u30fb-]|\u200c|\u200d)*$/u;

/**
 * The ASCII name that DNS knows. Dots and hyphens of other scripts are read as such.
 *
 * @returns undefined when the name has a sign that no registry sells, such as an emoji
 * @see https://www.unicode.org/reports/tr46/
 */
function toAsciiHost(host: string): string | undefined {
  if (PLAIN_HOST.test(host) && !ACE_LABEL.test(host)) return host.toLowerCase();
  const hyphened = host.replace(LIKE_A_HYPHEN, '-');
  if (SIGN.test(hyphened) || NO_HOST.test(hyphened)) return undefined;
  const ascii = domainToASCII(hyphened);
  return ascii !== '' && ALLOWED.test(domainToUnicode(ascii)) ? ascii : undefined;
}

/**
 * An entry of `shared-hosts.json`, of hosts whose pages belong to others than the owner of the
 * host. What is behind `linkedin.com/` says nothing about LinkedIn, and `linkedin.com` alone is
 * LinkedIn.
 *
 * It is a domain, with all hosts below it; `=` before it leaves those out (there each customer has
 * a host), `.*` at its end stands for any public suffix. A path limits it to what is behind that
 * path. `links` lead elsewhere: their target stands in them at times, behind `?` in the parameter
 * of that name.
 */
interface Entry {
  readonly path: string;
  readonly isLink: boolean;
  readonly parameter: string | undefined;
}

/**
 * Pages that a host has of its own, also in a language. Behind some of these names nobody else has
 * any.
 */
const OWN_PAGE =
  /^[\\/]+(?:(?:-[\\/]+[a-z]{2}|[a-z]{2}[-_][a-z]{2})[\\/]+)?(?:(?:about(?:-?us)?|careers?|press|newsroom|legal|privacy|investors?)(?:[\\/].*)?|company|jobs|contact(?:-us)?|news|terms|imprint|impressum|team|pricing|help|support|login|signup)(?:\.(?:html?|php|aspx))?[\\/]?(?:[?#].*)?$/is;

/**
 * Finds out whether what is behind a host belongs to others than the owner of the host.
 *
 * @param host in ASCII, without `www.`
 * @param registered its registrable part
 * @param behind path, query and fragment
 * @returns if so, texts that may be where it leads, the most likely first; none for most pages
 */
function findSharedPage(
  host: string,
  registered: string,
  behind: string,
): readonly string[] | undefined {
  const entry = findEntry(host, registered, behind);
  const targets = entry?.isLink ? targetsIn(behind, entry.parameter) : [];
  const isOwn = HOME.test(behind) || (OWN_PAGE.test(behind) && !entry?.isLink);
  return targets.length > 0 || (entry && !isOwn) ? targets : undefined;
}

/** Nothing but the host's own front page. */
const HOME = /^[\\/]*(?:(?:index|default|home)(?:\.[a-z]{2,5})?[\\/]?)?(?:#(?![!/]).*)?$/i;

/** By their hosts; none for the labels in them. */
let entries: ReadonlyMap<string, readonly Entry[]> | undefined;

function readEntries(): ReadonlyMap<string, readonly Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const [kind, list] of Object.entries(HOSTS)) {
    for (const text of list) {
      const [, name = '', path = '', parameter] = /^([^/?]+)([^?]*)(?:\?(.*))?$/.exec(text) ?? [];
      const entry = { path, isLink: kind === 'links', parameter };
      found.set(name, [...(found.get(name) ?? []), entry]);
      for (const label of name.split(/[=.]/)) found.set(label, []);
    }
  }
  return found;
}

/**
 * The entry of a host, or of one above it, with its public suffix or with any; that of links first.
 */
function findEntry(host: string, registered: string, behind: string): Entry | undefined {
  entries ??= readEntries();
  const label = registered.slice(0, registered.indexOf('.'));
  if (!entries.has(label)) return undefined; // as for most
  const anySuffix = host.slice(0, host.length - registered.length) + label;
  const names = [`=${host}`];
  for (const written of [host, `${anySuffix}.*`]) {
    for (let name = written; name.includes('.'); name = name.slice(name.indexOf('.') + 1))
      names.push(name);
  }
  const found = names.flatMap((name) => entries?.get(name) ?? []);
  const fitting = found.filter(({ path }) => isBehind(path, behind));
  return fitting.find(({ isLink }) => isLink) ?? fitting[0];
}

function isBehind(path: string, behind: string): boolean {
  const end = path.length;
  const isWord = /[\w-]{2}/.test(behind.slice(end - 1, end + 1)); // `/products` is not behind `/p`
  return behind.slice(0, end).toLowerCase() === path && !isWord;
}

const MOST_TARGETS = 8;
const URL_START = /^(?:https?:[\\/]|www\.)/i;
/**
 * A target in a path, as of archives, and in Proofpoint's links: `/v3/__https://acme.com__;!!…`.
 */
const IN_PATH = /[\\/](?:__)?(https?:[\\/].*?)(?:__(?:;.*)?)?$/i;

/** The addresses in a link: parameters that are URLs, and one in its path. */
function targetsIn(behind: string, parameter: string | undefined): readonly string[] {
  const [path = ''] = behind.split(/[?#]/, 1);
  const query = behind.slice(path.length + 1);
  const values = [...new URLSearchParams(query.replaceAll(/[;#]/g, '&'))]
    .filter(([name]) => parameter === undefined || name === parameter)
    .map(([, value]) => decode(value));
  const inPath = IN_PATH.exec(path)?.[1] ?? [];
  return values
    .concat(inPath)
    .filter((text) => URL_START.test(text))
    .slice(0, MOST_TARGETS);
}

function decode(text: string): string {
  let plain = text;
  // No further than to a URL: what is encoded in it is its own.
  for (let times = 0; times < 3 && plain.includes('%') && !URL_START.test(plain); times += 1) {
    try {
      plain = decodeURIComponent(plain);
    } catch {
      return plain;
    }
  }
  return plain;
}

/**
 * Whether anybody can have an e-mail address at a domain, so that it says nothing about the owner
 * of an address there. These are free mail services, and mail of Internet access providers. Loaded
 * from the package `email-providers` at the first call, without those of `free-mail.json` whose
 * addresses belong to their company or are examples, and with those that it lacks.
 */
function isFreeMail(domain: string): boolean {
  listed ??= loadListed();
  return listed.has(domain);
}

let listed: ReadonlySet<string> | undefined;

function loadListed(): ReadonlySet<string> {
  const require = createRequire(import.meta.url);
  const all = new Set(require('email-providers/all.json') as readonly string[]);
  for (const domain of FREE_MAIL.leftOut) all.delete(domain);
  for (const domain of FREE_MAIL.added) all.add(domain);
  return all;
}
