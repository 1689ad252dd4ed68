import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { fileTypeFromBuffer } from 'file-type';
import ipaddr from 'ipaddr.js';
import { SaxesParser } from 'saxes';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { describeNetworkError } from '../../brand/network-error.ts';

/** A picture, or why there is none. */
export type Fetched = Picture | { readonly reason: string };

export interface Picture {
  readonly kind: PictureKind;
  readonly bytes: Buffer;
}

/** Fetches pictures from the places that answers name. */
export interface PictureFetcher {
  /** Never throws: every failure is a reason. */
  fetch(url: URL, signal: AbortSignal): Promise<Fetched>;
  close(): Promise<void>;
}

export interface PictureFetcherOptions {
  /**
   * The origin of the API, whose address is not checked; other ports of its host are as any other.
   */
  readonly ownOrigin?: string | undefined;
  /** The size of the largest picture. @default 1 MB */
  readonly maxBytes?: number | undefined;
  /** Whether SVG is taken, which may hold scripts. @default it is no picture */
  readonly takesSvg?: boolean | undefined;
  /** The longest time for all of it, redirects included, in milliseconds. @default 10,000 */
  readonly timeoutMs?: number | undefined;
  /** Finds all addresses of a name. @default the system's resolver */
  readonly resolve?: Resolve | undefined;
  /** Whether an address may be connected to. @default those of the public internet */
  readonly isPublic?: ((address: string) => boolean) | undefined;
}

type Resolve = (
  hostname: string,
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** Most pictures that are fetched from one host at the same time. */
export const PER_HOST = 2;
/** Each picture is held in memory while it is checked. */
const LARGEST_BYTES = 1_000_000;
const TIMEOUT_MS = 10_000;
/** A host that takes longer to be reached counts as unreachable. */
const CONNECT_TIMEOUT_MS = 5_000;
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * All that a picture's server learns: no cookies, no referrer, nothing that is meant for the API.
 */
const HEADERS: Readonly<Record<string, string>> = {
  accept: 'image/png, image/jpeg, image/*;q=0.8',
  'accept-encoding': 'identity', // pictures are compressed already
  'user-agent': 'brandfill',
};

/**
 * Connects to public addresses and the origin of the API only, and always directly, even if there
 * is a proxy.
 */
export function createPictureFetcher(options: PictureFetcherOptions): PictureFetcher {
  const { ownOrigin, maxBytes = LARGEST_BYTES, takesSvg = false } = options;
  const { timeoutMs = TIMEOUT_MS } = options;
  const agent = new Agent({ connections: PER_HOST, connect: createGuardedConnector(options) });

  async function follow(start: URL, signal: AbortSignal): Promise<Fetched> {
    let url = start;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      const { statusCode, headers, body } = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: HEADERS,
        signal,
      });
      if (statusCode === 200) return await read(body);
      await body.dump({ limit: 16 * 1024, signal }).catch(() => {});
      const location = headers['location'];
      if (!REDIRECTS.has(statusCode) || typeof location !== 'string') {
        return { reason: `http_${statusCode}` };
      }
      const next = checkLogoUrl(location, url, ownOrigin);
      if ('reason' in next) return next;
      url = next.url;
    }
    return { reason: 'too_many_redirects' };
  }

  async function read(body: Dispatcher.ResponseData['body']): Promise<Fetched> {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) {
        body.destroy();
        return { reason: 'too_large' };
      }
      chunks.push(chunk);
    }
    return await toPicture(Buffer.concat(chunks));
  }

  async function toPicture(bytes: Buffer): Promise<Fetched> {
    const kind = await findPictureKind(bytes);
    if (kind) return { kind, bytes };
    if (!isSvg(bytes)) return { reason: 'not_a_picture' };
    return takesSvg ? { kind: 'svg', bytes } : { reason: 'svg_left_out' };
  }

  return {
    fetch: async (url, signal) => {
      const deadline = AbortSignal.timeout(timeoutMs);
      try {
        return await follow(url, AbortSignal.any([signal, deadline]));
      } catch (error) {
        if (signal.aborted) return { reason: 'not_asked' };
        if (error instanceof PrivateAddressError) return { reason: 'private_address' };
        return { reason: deadline.aborted ? 'timeout' : describeNetworkError(error) };
      }
    },
    close: () => agent.destroy(),
  };
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
function createGuardedConnector({
  ownOrigin,
  resolve = (hostname) => systemLookup(hostname, { all: true }),
  isPublic = isPublicAddress,
}: PictureFetcherOptions): buildConnector.connector {
  const connectorTo = (isFine: (address: string) => boolean): buildConnector.connector => {
    const lookup = callbackify(async (hostname: string, _options: unknown) => {
      const addresses = await resolve(hostname);
      const other = addresses.find(({ address }) => !isFine(address));
      if (other) throw new PrivateAddressError(`${hostname} is ${other.address}`);
      if (addresses.length > 0) return addresses;
      throw Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
    }) as unknown as LookupFunction;
    // Families are tried in turn, so sockets always ask for all addresses.
    return buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup, autoSelectFamily: true });
  };
  const guarded = connectorTo(isPublic);
  const open = connectorTo(() => true);
  return (target, callback) => {
    const { hostname, protocol, host } = target;
    if (`${protocol}//${host}` === ownOrigin) return open(target, callback);
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(literal) !== 0 && !isPublic(literal)) {
      return callback(new PrivateAddressError(`${literal} is not a public address`), null);
    }
    guarded(target, callback);
  };
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
  if (parsed.range() === 'rfc6052') {
    return isPublicIPv4(new ipaddr.IPv4(parsed.toByteArray().slice(-4)));
  }
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST);
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !SERVICES.has(address.toString());
}

/** The part of IPv6 that has been given out so far. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** Public by their number, but answered by the machine's own cloud (Azure's platform). */
const SERVICES: ReadonlySet<string> = new Set(['168.63.129.16']);

/** The kinds of pictures that are saved; each is the ending of its files. */
export const PICTURE_KINDS = ['png', 'jpg', 'gif', 'webp', 'avif', 'ico', 'svg'] as const;

export type PictureKind = (typeof PICTURE_KINDS)[number];

/**
 * What tells the kind of a file stands at its start. The parsers get no more, since strangers wrote
 * it.
 */
const START_BYTES = 4_096;

/** The kind of picture that bytes are; undefined if they are none, or SVG. */
async function findPictureKind(bytes: Buffer): Promise<PictureKind | undefined> {
  const found = await fileTypeFromBuffer(bytes.subarray(0, START_BYTES));
  return PICTURE_KINDS.find((kind) => kind === found?.ext);
}

/** Whether it is XML whose first element is `svg`. */
function isSvg(bytes: Buffer): boolean {
  let first: string | undefined;
  const parser = new SaxesParser();
  parser.on('opentagstart', ({ name }) => {
    first ??= name;
  });
  parser.on('error', () => {
    first ??= 'none';
  });
  parser.write(bytes.toString('utf8', 0, START_BYTES));
  return first?.split(':').at(-1)?.toLowerCase() === 'svg';
}

/** The URL of a picture, or the reason why there is none. */
type LogoUrl =
  | { readonly url: URL }
  | { readonly reason: 'no_url' | 'invalid_url' | 'unsupported_scheme' | 'unsupported_port' };

/**
 * Finds the URL of a picture in the result of an expression: a text, or the first text in a list. A
 * user and password in it are left out; `//host/path` is taken as https.
 *
 * @param ownOrigin the origin of the API, where pictures may be, whatever its port
 */
export function findLogoUrl(value: unknown, ownOrigin?: string): LogoUrl {
  const text = [value].flat().find((item) => typeof item === 'string' && item.trim() !== '');
  if (typeof text !== 'string') return { reason: 'no_url' };
  const trimmed = text.trim();
  return checkLogoUrl(
    trimmed.startsWith('//') ? `https:${trimmed}` : trimmed,
    undefined,
    ownOrigin,
  );
}

/**
 * Checks the URL of a picture, from an answer or, with the URL before as `base`, from a redirect.
 */
function checkLogoUrl(text: string, base: URL | undefined, ownOrigin: string | undefined): LogoUrl {
  if (!URL.canParse(text, base?.href)) return { reason: 'invalid_url' };
  const url = new URL(text, base?.href);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { reason: 'unsupported_scheme' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const isUsual = /^(?:80|443)?$/.test(url.port);
  return isUsual || url.origin === ownOrigin ? { url } : { reason: 'unsupported_port' };
}
