import { isIP } from 'node:net';
import type { RedisOptions } from 'ioredis';
import ipaddr from 'ipaddr.js';
import { refusal } from './errors.ts';

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
  throw refusal(
    `expected HOST or HOST:PORT such as media.intranet.example or localhost:8080, ${receivedUrl(text)}`,
  );
}

/**
 * Parses a URL of http or https; undefined for any other text.
 *
 * A password with a `/`, `?` or `#` ends the host for whoever parses the URL: the user is taken for
 * the host, and the `@` comes to stand further behind. Such a URL is no URL here, so whoever shows
 * a host never shows a part of a login.
 */
export function parseHttpUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && !`${url.pathname}${url.search}${url.hash}`.includes('@') ? url : undefined;
}

const LONGEST_SHOWN = 80;

/**
 * What was received, for a message: only what looks like a host with a path can hold no login, and
 * a host without a dot may be a credential in the wrong place.
 */
export function receivedUrl(text: string): string {
  const isHarmless =
    text.length <= LONGEST_SHOWN &&
    /^([a-z]{2,10}:\/\/)?(localhost|[\w-]+(\.[\w-]+)+)?(:\d{1,5})?(\/[\w./~-]*)?$/i.test(text);
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

/** The address of a queue: one Redis, or the master that Sentinels name, or a cluster. */
export type RedisAddress =
  | { readonly kind: 'single'; readonly options: Options }
  | { readonly kind: 'cluster'; readonly nodes: readonly Node[]; readonly access: Options };

type Options = Omit<RedisOptions, 'replyMapping'>;

type Node = ReturnType<typeof nodeAt>;

// An '@' or '/' in a password must be percent-encoded. Otherwise it would be taken for a part of a
// host, and shown. A URL has one host; each of several makes one.
const FORM =
  /^(rediss?)(-sentinel|-cluster)?:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^/?#@]+)(?:\/([^?#@]*))?(?:\?([^#@]*))?$/i;
const SOCKET = /^redis\+unix:\/\/(?:([^:@/]*):([^@/]*)@)?(\/[^?#@]+)(?:\?db=(\d{1,4}))?$/i;

/**
 * Reads the URL of a queue. Besides `redis://` and `rediss://` (TLS), with user, password and
 * number of the database, there are
 *
 * - `redis-sentinel://host:26379,host:26379/NAME/0`, NAME being the master that Sentinels watch;
 *   the login is for Redis, one for the Sentinels follows as
 *   `?sentinelPassword=…&sentinelUsername=…`;
 * - `redis-cluster://host:6379,host:6379`;
 * - `redis+unix:///run/redis.sock?db=0`, a socket, with `user:password@` before the path.
 *
 * Characters with a meaning in URLs must be percent-encoded in a password.
 *
 * @throws BrandfillError `INVALID_SETTING`. It does not repeat the URL, which may hold a password.
 */
export function parseRedisUrl(text: string): RedisAddress {
  try {
    const [, user, word, path, db = 0] = SOCKET.exec(text.trim()) ?? [];
    if (path === undefined) return addressIn(FORM.exec(text.trim()) ?? []);
    const options = { ...accessOf(user, word), path: decodeURIComponent(path), db: Number(db) };
    return { kind: 'single', options };
  } catch {
    throw refusal(
      'expected a URL such as redis://localhost:6379/0, rediss://user:password@host:6380, redis-sentinel://a:26379,b:26379/mymaster or redis-cluster://a:6379,b:6379, with % codes for special characters in a password',
    );
  }
}

/** @throws Error when these are the parts of no URL of a queue */
function addressIn(parts: readonly (string | undefined)[]): RedisAddress {
  const [, scheme = '', kind = '', user, word, hosts = '', path = '', search = ''] = parts;
  const isTls = scheme.toLowerCase() === 'rediss';
  const isSentinel = kind.toLowerCase() === '-sentinel';
  const nodes = hosts.split(',').map((host) => nodeAt(host, isSentinel ? 26_379 : 6_379));
  const [first, ...others] = nodes;
  const [one = '', other = '', ...rest] = path.split('/').map(decodeURIComponent);
  const access = accessOf(user, word);
  if (!first || rest.length > 0 || (search !== '' && !isSentinel)) throw new Error('no address');
  if (isSentinel && one !== '') {
    // Without the last one, the connection to Redis itself would be plain, whatever `tls` says.
    const tls = isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {};
    const own = sentinelAccess(search);
    const options = { ...access, ...tls, ...own, sentinels: nodes, name: one, db: dbOf(other) };
    return { kind: 'single', options };
  }
  // A cluster has only one database.
  if (kind.toLowerCase() === '-cluster' && dbOf(one) === 0 && other === '')
    return { kind: 'cluster', nodes, access: isTls ? { ...access, tls: {} } : access };
  if (kind !== '' || others.length > 0 || other !== '') throw new Error('no address');
  const tls = isTls ? { tls: isIP(first.host) ? {} : { servername: first.host } } : {};
  return { kind: 'single', options: { ...access, ...tls, ...first, db: dbOf(one) } };
}

function accessOf(username = '', password = ''): Options {
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
}

function nodeAt(address: string, usual: number) {
  const { hostname, port } = new URL(`redis://${address}`);
  const host = hostname.replace(/^\[(.+)\]$/, '$1');
  if (!/^[\w.-]+$/.test(host) && !isIP(host)) throw new Error('no host');
  if (port === '0') throw new Error('no port');
  return { host, port: port === '' ? usual : Number(port) };
}

/** The login to the Sentinels themselves. */
function sentinelAccess(search: string): Options {
  const given = [...new URLSearchParams(search.replaceAll('+', '%2B'))];
  if (given.some(([name, value]) => !/^sentinel(Username|Password)$/.test(name) || value === ''))
    throw new Error('no login');
  return Object.fromEntries(given);
}

function dbOf(text: string): number {
  if (!/^\d{0,4}$/.test(text)) throw new Error('no database');
  return Number(text);
}

/** Whether an address can be reached from this machine only. */
export function isLocalAddress(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}

/** Puts an IPv6 address in brackets, as it must be before a port. */
export function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
