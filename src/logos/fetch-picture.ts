import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector } from 'undici';
import {
  ACCEPTED_ENCODINGS,
  createDeadlines,
  type Deadline,
  type Exchanged,
  exchange,
  isPacked,
  type ResponseHeaders,
} from '../brand/exchange.ts';
import { findWaitMs } from '../brand/limit-headers/time.ts';
import { describeNetworkError } from '../brand/network-error.ts';
import { type AllowedHost, isAllowed, portOf } from '../common/addresses.ts';
import { systemErrorCode } from '../common/errors.ts';
import { judgeSvg } from './judge-svg.ts';

/** A picture, or why there is none. */
export type Fetched = Picture | NoPicture;

export interface Picture {
  readonly kind: PictureKind;
  readonly bytes: Buffer;
}

export interface NoPicture {
  readonly reason: string;
  /** How long its server asked for no further requests. */
  readonly retryAfterMs?: number | undefined;
}

/** Fetches pictures from the places that answers name. */
export interface PictureFetcher {
  /** Never throws: every failure is a reason. */
  fetch(url: URL, signal: AbortSignal): Promise<Fetched>;
  close(): Promise<void>;
}

export interface PictureFetcherOptions extends Omit<GuardOptions, 'timeoutMs'> {
  /** The size of the largest picture, after decompression. */
  readonly maxBytes: number;
  /** Most connections to one host. */
  readonly perHost: number;
  /** The longest time for all of it, redirects included, in milliseconds. @default 10,000 */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 10_000;
/** A host that takes longer to be reached counts as unreachable. */
const CONNECT_TIMEOUT_MS = 5_000;
const MOST_REDIRECTS = 5;
const DISCARDED_BYTES = 16 * 1024;

/**
 * All that a picture's server learns: no cookies, no referrer, nothing that is meant for the API.
 */
const HEADERS: Readonly<Record<string, string>> = {
  accept: 'image/png, image/svg+xml, image/jpeg, image/*;q=0.8',
  'accept-encoding': ACCEPTED_ENCODINGS,
  'user-agent': 'brandfill',
};

/**
 * Connects to public addresses and allowed hosts only, and always directly, even if there is a
 * proxy.
 */
export function createPictureFetcher(options: PictureFetcherOptions): PictureFetcher {
  const { allowed, maxBytes, perHost, timeoutMs = TIMEOUT_MS, ...guard } = options;
  const deadlines = createDeadlines(timeoutMs);
  const agent = new Agent({
    connections: perHost,
    connect: createGuardedConnector({ allowed, timeoutMs: CONNECT_TIMEOUT_MS, ...guard }),
    // The deadline covers all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  async function follow(start: URL, deadline: Deadline): Promise<Fetched> {
    let url = start;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      const path = url.pathname + url.search;
      const request = { origin: url.origin, path, headers: HEADERS, mostBytes };
      const response = await exchange(agent, request, deadline);
      if (response.httpStatus === 200) return read(response);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.httpStatus) || typeof location !== 'string') {
        return refusalOf(response);
      }
      const next = checkLogoUrl(location, url, allowed);
      if ('reason' in next) return next;
      url = next.url;
    }
    return { reason: 'too_many_redirects' };
  }

  function mostBytes(httpStatus: number, headers: ResponseHeaders): number {
    if (httpStatus !== 200) return DISCARDED_BYTES;
    return Number(headers['content-length']) > maxBytes && !isPacked(headers) ? 0 : maxBytes;
  }

  async function fetch(url: URL, parent: AbortSignal): Promise<Fetched> {
    const deadline = deadlines.start(parent);
    try {
      return await follow(url, deadline);
    } catch (error) {
      if (parent.aborted) return { reason: 'not_asked' };
      return { reason: deadline.isOver ? 'timeout' : describe(error) };
    } finally {
      deadline.clear();
    }
  }

  return {
    fetch: (url, signal) =>
      url.protocol === 'data:' ? readDataUrl(url, maxBytes) : fetch(url, signal),
    close: () => agent.destroy(),
  };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** @throws the error that broke the picture off */
function read({ bytes, isCut, bodyError }: Exchanged): Fetched {
  if (isCut) return { reason: 'too_large' };
  if (bodyError) throw bodyError;
  return toPicture(bytes);
}

/** Turns bytes into a picture, or gives the reason why they are none. */
function toPicture(bytes: Buffer): Fetched {
  const kind = findPictureKind(bytes);
  if (kind) return { kind, bytes };
  switch (judgeSvg(bytes)) {
    case 'safe':
      return { kind: 'svg', bytes };
    case 'unsafe':
      return { reason: 'unsafe_svg' };
    case 'no_svg':
      return { reason: 'not_a_picture' };
  }
}

/** Reads a picture that is in the answer itself. */
async function readDataUrl(url: URL, maxBytes: number): Promise<Fetched> {
  // The picture has at least three quarters of this size, unless most of it is escapes.
  if (url.href.length > 3 * maxBytes + 1_000) return { reason: 'too_large' };
  try {
    const bytes = Buffer.from(await (await globalThis.fetch(url)).arrayBuffer());
    return bytes.length > maxBytes ? { reason: 'too_large' } : toPicture(bytes);
  } catch {
    return { reason: 'invalid_url' satisfies UrlProblem };
  }
}

function refusalOf({ httpStatus, headers }: Exchanged): NoPicture {
  const { 'retry-after': retryAfter, date } = headers;
  const time = { date: typeof date === 'string' ? date : undefined, nowMs: Date.now() };
  return { reason: `http_${httpStatus}`, retryAfterMs: findWaitMs(retryAfter, time) };
}

function describe(error: unknown): string {
  if (error instanceof PrivateAddressError) return 'private_address';
  const isBroken = /^(Z_|ERR_BROTLI|ERR__)/.test(systemErrorCode(error) ?? '');
  return isBroken ? 'not_a_picture' : describeNetworkError(error);
}

/** An address that a name resolves to. */
interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

interface GuardOptions {
  /** Hosts whose address is not checked. */
  readonly allowed: readonly AllowedHost[];
  /** The longest that a connection may take to open, in milliseconds. */
  readonly timeoutMs: number;
  /** Finds all addresses of a name. @default the system's resolver */
  readonly resolve?: ((hostname: string) => Promise<readonly ResolvedAddress[]>) | undefined;
  /**
   * Whether connections to an address are allowed. @default for addresses of the public internet
   */
  readonly isPublic?: ((address: string) => boolean) | undefined;
}

/** A host has an address outside of the public internet. */
class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

/**
 * Opens connections to public addresses only. A name is resolved once, all its addresses are
 * checked, and one of those very addresses is connected to. So a name that resolves to something
 * else a moment later (DNS rebinding) gains nothing. Every connection goes this way, and therefore
 * every redirect.
 */
function createGuardedConnector(options: GuardOptions): buildConnector.connector {
  const { allowed, timeoutMs, resolve = resolveBySystem, isPublic = isPublicAddress } = options;
  const connectorTo = (isFine: (address: string) => boolean): buildConnector.connector => {
    const lookup = createLookup(resolve, isFine);
    // Families are tried in turn, so sockets always ask for all addresses.
    return buildConnector({ timeout: timeoutMs, lookup, autoSelectFamily: true });
  };
  const guarded = connectorTo(isPublic);
  const open = connectorTo(() => true);

  return (target, callback) => {
    const hostname = target.hostname;
    if (isAllowed(allowed, { hostname, port: portOf(target) })) return open(target, callback);
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(literal) !== 0 && !isPublic(literal)) {
      return callback(new PrivateAddressError(`${literal} is not a public address`), null);
    }
    guarded(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      // It cannot be another address by now, but nothing is sent before that is verified.
      const { remoteAddress } = socket;
      if (remoteAddress === undefined || isPublic(remoteAddress)) return callback(null, socket);
      socket.destroy();
      callback(new PrivateAddressError(`connected to ${remoteAddress}`), null);
    });
  };
}

/** A lookup for sockets that refuses a name if any of its addresses is not public. */
function createLookup(
  resolve: NonNullable<GuardOptions['resolve']>,
  isPublic: (address: string) => boolean,
): LookupFunction {
  return callbackify(async (hostname: string, _options: unknown) => {
    const addresses = await resolve(hostname);
    const other = addresses.find(({ address }) => !isPublic(address));
    if (other) throw new PrivateAddressError(`${hostname} is ${other.address}`);
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
  }) as unknown as LookupFunction;
}

async function resolveBySystem(hostname: string): Promise<readonly ResolvedAddress[]> {
  return await systemLookup(hostname, { all: true });
}

/**
 * Whether an IP address belongs to the public internet: not to this machine, nor its network, nor
 * any of the ranges that IANA keeps for other purposes. Anything other than a plain IP address does
 * not.
 *
 * @see {@link https://www.iana.org/assignments/iana-ipv4-special-registry IANA's registry}
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return isPublicIPv4(parsed);
  // In networks without IPv4, DNS64 gives IPv4 hosts addresses in this range.
  if (parsed.range() === 'rfc6052') return isPublicIPv4(embeddedIPv4(parsed));
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST);
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !SERVICES.has(address.toString());
}

function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

/** The part of IPv6 that has been given out so far. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** Public by their number, but answered by the machine's own cloud (Azure's platform). */
const SERVICES: ReadonlySet<string> = new Set(['168.63.129.16']);

/** The URL of a picture, or the reason why there is none. */
export type LogoUrl = { readonly url: URL } | { readonly reason: UrlProblem };

/** Problems of a URL that are found before any request. */
export type UrlProblem = 'no_url' | 'invalid_url' | 'unsupported_scheme' | 'unsupported_port';

/**
 * Finds the URL of a picture in the result of an expression: a text, or the first text in a list. A
 * user and password in it are left out; `//host/path` is taken as https.
 */
export function findLogoUrl(value: unknown, allowed: readonly AllowedHost[]): LogoUrl {
  const text = [value].flat().find((item) => typeof item === 'string' && item.trim() !== '');
  if (typeof text !== 'string') return { reason: 'no_url' };
  const trimmed = text.trim();
  return checkLogoUrl(trimmed.startsWith('//') ? `https:${trimmed}` : trimmed, undefined, allowed);
}

/** Checks the URL of a picture, from an answer or from a redirect. */
function checkLogoUrl(
  text: string,
  base: URL | undefined,
  allowed: readonly AllowedHost[],
): LogoUrl {
  if (!URL.canParse(text, base?.href)) return { reason: 'invalid_url' };
  const url = new URL(text, base?.href);
  if (url.protocol === 'data:' && base === undefined) return { url };
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { reason: 'unsupported_scheme' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const port = portOf(url);
  const isUsual = port === 80 || port === 443;
  if (!isUsual && !isAllowed(allowed, { hostname: url.hostname, port })) {
    return { reason: 'unsupported_port' };
  }
  return { url };
}

/** The kinds of pictures that are saved; each is the ending of its files. */
export const PICTURE_KINDS = ['png', 'jpg', 'gif', 'webp', 'avif', 'bmp', 'ico', 'svg'] as const;

export type PictureKind = (typeof PICTURE_KINDS)[number];

/**
 * The kind of picture that bytes are, by their beginning; undefined if they are none. SVG is text
 * and has to be parsed: see `judgeSvg`. A library for this knows hundreds of formats, each with a
 * parser that strangers' bytes would run through; these seven need none.
 */
export function findPictureKind(bytes: Buffer): Exclude<PictureKind, 'svg'> | undefined {
  return KINDS.find(([, isKind]) => bytes.length >= LEAST_BYTES && isKind(bytes))?.[0];
}

/** No picture is smaller, and everything that is checked lies within. */
const LEAST_BYTES = 26;

const KINDS: readonly (readonly [Exclude<PictureKind, 'svg'>, (bytes: Buffer) => boolean])[] = [
  ['png', (bytes) => has(bytes, 0, '\x89PNG\r\n\x1a\n')],
  ['jpg', (bytes) => has(bytes, 0, '\xff\xd8\xff')],
  ['gif', (bytes) => has(bytes, 0, 'GIF87a') || has(bytes, 0, 'GIF89a')],
  ['webp', (bytes) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WEBP')],
  ['avif', (bytes) => has(bytes, 4, 'ftyp') && brandsOf(bytes).some(isAvif)],
  ['bmp', (bytes) => has(bytes, 0, 'BM') && BMP_HEADER_BYTES.has(bytes.readUInt32LE(14))],
  ['ico', (bytes) => has(bytes, 0, '\0\0\x01\0') && bytes.readUInt16LE(4) > 0 && bytes[9] === 0],
];

/** Possible lengths of the header of a BMP, behind its first 14 bytes: its version. */
const BMP_HEADER_BYTES: ReadonlySet<number> = new Set([12, 40, 52, 56, 64, 108, 124]);

function has(bytes: Buffer, at: number, mark: string): boolean {
  return bytes.toString('latin1', at, at + mark.length) === mark;
}

/** The brands in the first box of an ISO media file: the major one, and the compatible ones. */
function brandsOf(bytes: Buffer): readonly string[] {
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256);
  const brands = [bytes.toString('latin1', 8, 12)];
  for (let at = 16; at + 4 <= end; at += 4) brands.push(bytes.toString('latin1', at, at + 4));
  return brands;
}

function isAvif(brand: string): boolean {
  return brand === 'avif' || brand === 'avis';
}
