import { Agent } from 'undici';
import { createDeadlines, type Deadline } from '../brand/deadline.ts';
import {
  ACCEPTED_ENCODINGS,
  type Exchanged,
  exchange,
  isPacked,
  type ResponseHeaders,
} from '../brand/exchange.ts';
import { findWaitMs } from '../brand/limit-headers/time.ts';
import { describeNetworkError } from '../brand/network-error.ts';
import { systemErrorCode } from '../common/errors.ts';
import {
  createGuardedConnector,
  type GuardOptions,
  PrivateAddressError,
} from './guarded-connect.ts';
import { judgeSvg } from './judge-svg.ts';
import { checkLogoUrl, type UrlProblem } from './logo-url.ts';
import { findPictureKind, type PictureKind } from './picture-kind.ts';

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
