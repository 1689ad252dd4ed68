import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { BrandfillError } from './errors.ts';

/** A host whose address is not checked. */
export interface AllowedHost {
  /** As `URL.hostname` has it. */
  readonly hostname: string;
  /** Undefined for every port. */
  readonly port: number | undefined;
}

/**
 * Reads `HOST` or `HOST:PORT`; an IPv6 address must be in brackets.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function parseAllowedHost(text: string): AllowedHost {
  const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/s.exec(text.trim()) ?? [];
  const isPlain = host !== '' && !/[/?#@\\*,\s]/.test(host);
  const url = `http://${host}/`;
  if (isPlain && URL.canParse(url) && Number(port ?? 1) >= 1 && Number(port ?? 1) <= 65_535) {
    const { hostname, port: rest } = new URL(url);
    if (rest === '') return { hostname, port: port === undefined ? undefined : Number(port) };
  }
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected HOST or HOST:PORT such as media.intranet.example or localhost:8080, ${receivedUrl(text)}`,
  );
}

/** Whether a host is one of the allowed ones. */
export function isAllowed(
  hosts: readonly AllowedHost[],
  { hostname, port }: { readonly hostname: string; readonly port: number },
): boolean {
  return hosts.some((host) => host.hostname === hostname && (host.port ?? port) === port);
}

/** The port that a URL leads to. */
export function portOf({ protocol, port }: Pick<URL, 'protocol' | 'port'>): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/**
 * Parses a URL of http or https; undefined for any other text.
 *
 * A password with a `/`, `?` or `#` ends the host for whoever parses the URL: the user is taken for
 * the host, and the `@` comes to stand further behind. Such a URL is no URL here, so whoever shows a
 * host never shows a part of a login.
 */
export function parseHttpUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && !`${url.pathname}${url.search}${url.hash}`.includes('@') ? url : undefined;
}

/** What was received, for a message: only what looks like a host with a path can hold no login. */
export function receivedUrl(text: string): string {
  const isHarmless = /^([a-z]{2,10}:\/\/)?[\w.-]*(:\d{1,5})?(\/[\w./~-]*)?$/i.test(text);
  return isHarmless ? `received '${text}'` : 'received something else';
}

/** User and password of a URL, decoded, however it is written; undefined when there are none. */
export function loginOf(url: string): string | undefined {
  const [, login] = /^\s*(?:[a-z][a-z0-9+.-]*:)?\/\/(.*)@/is.exec(url) ?? [];
  if (!login) return undefined;
  try {
    return decodeURIComponent(login);
  } catch {
    return login;
  }
}

/** The login to a server. */
interface Access {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: { readonly servername?: string };
}

interface Node {
  readonly host: string;
  readonly port: number;
}

interface Sentinels {
  readonly sentinels: Node[];
  readonly name: string;
  readonly db: number;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  readonly sentinelTLS?: object;
  /** Without it, the connection to Redis itself would be plain, whatever `tls` says. */
  readonly enableTLSForSentinelMode?: boolean;
}

/** One Redis, or the master that Sentinels name. */
type SingleOptions = Access & ((Node & { readonly db: number }) | Sentinels);

/** The address of a queue. */
export type RedisAddress =
  | { readonly kind: 'single'; readonly options: SingleOptions }
  | { readonly kind: 'cluster'; readonly nodes: readonly Node[]; readonly access: Access };

// An '@' or '/' in a password must be percent-encoded. Otherwise it would be taken for a part of a
// host, and shown.
const FORM =
  /^(rediss?)(-sentinel|-cluster)?:\/\/(?:([^@/?#]*)@)?([^/?#@]+)(\/[^?#@]*)?(?:\?([^#@]*))?$/i;

/**
 * Reads the URL of a queue. Besides `redis://` and `rediss://` (TLS), with user, password and
 * number of the database, there are
 *
 * - `redis-sentinel://host:26379,host:26379/NAME/0`, NAME being the master that Sentinels watch;
 *   the login is for Redis, one for the Sentinels follows as
 *   `?sentinelPassword=…&sentinelUsername=…`;
 * - `redis-cluster://host:6379,host:6379`.
 *
 * Characters with a meaning in URLs must be percent-encoded in a password.
 *
 * @throws BrandfillError `INVALID_SETTING`. It does not repeat the URL, which may hold a password.
 */
export function parseRedisUrl(url: string): RedisAddress {
  const form = FORM.exec(url.trim());
  if (!form) throw wrongUrl();
  const [, scheme, kind, login, hosts = '', path = '', query] = form;
  if (query !== undefined && kind?.toLowerCase() !== '-sentinel') throw wrongUrl();
  const nodes = hosts.split(',').map((host) => parseHost(host, kind));
  const [first, ...others] = nodes;
  if (!first) throw wrongUrl();
  const isTls = scheme?.toLowerCase() === 'rediss';
  const access = credentials(login);
  const [part, nextPart, ...rest] = path.split('/').slice(1);
  if (rest.length > 0) throw wrongUrl();
  switch (kind?.toLowerCase()) {
    case '-sentinel': {
      const tls = isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {};
      const name = decode(part ?? '');
      if (name === '') throw wrongUrl();
      const own = sentinelAccess(query);
      const options = { ...access, ...tls, ...own, sentinels: nodes, name, db: parseDb(nextPart) };
      return { kind: 'single', options };
    }
    case '-cluster':
      // A cluster has only one database.
      if (parseDb(part) !== 0 || nextPart) throw wrongUrl();
      return { kind: 'cluster', nodes, access: isTls ? { ...access, tls: {} } : access };
    default: {
      if (others.length > 0 || nextPart) throw wrongUrl();
      const tls = isTls ? { tls: isIP(first.host) ? {} : { servername: first.host } } : {};
      return { kind: 'single', options: { ...access, ...tls, ...first, db: parseDb(part) } };
    }
  }
}

function wrongUrl(): BrandfillError {
  return new BrandfillError(
    'INVALID_SETTING',
    'expected a URL such as redis://localhost:6379/0, rediss://user:password@host:6380, redis-sentinel://a:26379,b:26379/mymaster or redis-cluster://a:6379,b:6379, with % codes for special characters in a password',
  );
}

function credentials(login: string | undefined): Access {
  if (!login) return {};
  const [username = '', ...password] = login.split(':').map(decode);
  return {
    ...(username === '' ? {} : { username }),
    ...(password.length === 0 ? {} : { password: password.join(':') }),
  };
}

/** The login to the Sentinels themselves. */
function sentinelAccess(
  query: string | undefined,
): Pick<Sentinels, 'sentinelUsername' | 'sentinelPassword'> {
  const found: { sentinelUsername?: string; sentinelPassword?: string } = {};
  for (const part of query?.split('&') ?? []) {
    const [, name, value = ''] = /^(sentinelUsername|sentinelPassword)=(.+)$/.exec(part) ?? [];
    if (name !== 'sentinelUsername' && name !== 'sentinelPassword') throw wrongUrl();
    found[name] = decode(value);
  }
  return found;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrongUrl();
  }
}

function parseHost(text: string, kind: string | undefined): Node {
  const [, ipv6, name, port] = /^(?:\[([^\]]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = ipv6 ?? name;
  const portNumber = Number(port ?? (kind?.toLowerCase() === '-sentinel' ? 26_379 : 6_379));
  if (host === undefined || portNumber < 1 || portNumber > 65_535) throw wrongUrl();
  if (ipv6 !== undefined && !isIPv6(ipv6)) throw wrongUrl();
  return { host, port: portNumber };
}

function parseDb(text: string | undefined): number {
  if (!text) return 0;
  if (!/^\d{1,4}$/.test(text)) throw wrongUrl();
  return Number(text);
}

/** Whether an address can be reached from this machine only. */
export function isLocalAddress(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}
