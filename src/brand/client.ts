import { type Answer, ERROR_BODY_BYTES, judge, meaningOf } from './answer.ts';
import { readBody } from './body-text.ts';
import type { Credential } from './credential.ts';
import { createDeadlines } from './deadline.ts';
import type { Endpoint, NameValue } from './endpoint.ts';
import {
  ACCEPTED_ENCODINGS,
  type Exchanged,
  GivenUpError,
  isPacked,
  type ResponseHeaders,
} from './exchange.ts';
import { findLimits } from './limit-headers/find-limits.ts';
import { createServerClock } from './limit-headers/server-clock.ts';
import { createWindowFinder } from './limit-headers/window-finder.ts';
import {
  classifyNetworkError,
  isAddressReason,
  isHeadersTooLarge,
  type NetworkFailure,
} from './network-error.ts';
import { createShapeFinder } from './shape.ts';
import { openTransport } from './transport.ts';

/** Makes calls to the brand API. It neither retries nor paces. */
export interface BrandClient {
  /**
   * Makes one call and says what it brought. Network errors and timeouts are answers too.
   *
   * @param path as `Endpoint.path` or a redirect's answer gives it
   * @param signal gives the call up at once
   * @param domain the domain that the path asks about
   * @throws the signal's reason, and nothing else
   */
  call(path: string, signal: AbortSignal, domain: string): Promise<Answer>;
  /** Closes all connections. */
  close(): Promise<void>;
}

export interface BrandClientOptions {
  readonly endpoint: Endpoint;
  readonly credential: Credential;
  /** Extra headers for every call. */
  readonly headers?: readonly NameValue[];
  /** How many connections are kept. */
  readonly connections: number;
  /** The longest that one call may take, from its start to the last byte of the answer. */
  readonly timeoutMs: number;
  /** The largest body, after decompression. @default 10 MiB */
  readonly maxBodyBytes?: number;
  /** @default Date.now */
  readonly now?: () => number;
}

const TEN_MIB = 10 * 1024 * 1024;
/** A body that is shorter is read to its end, so that its connection can be used again. */
const DISCARDED_BYTES = 64 * 1024;
/** Errors whose body is read for a reason. */
const READ_KINDS: ReadonlySet<ReturnType<typeof meaningOf>> = new Set([
  'rejected',
  'forbidden',
  'not_found',
  'unauthorized',
]);

/**
 * Opens a keep-alive pool to the endpoint, through the proxy that the environment names, if any.
 */
export function createBrandClient(options: BrandClientOptions): BrandClient {
  const { endpoint, credential, connections, timeoutMs } = options;
  const { maxBodyBytes = TEN_MIB, now = Date.now } = options;
  const transport = openTransport({ origin: endpoint.origin, connections, timeoutMs });
  const deadlines = createDeadlines(timeoutMs);
  const shapeOf = createShapeFinder();
  const clock = createServerClock();
  const windows = createWindowFinder();
  const headers: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': ACCEPTED_ENCODINGS,
    'user-agent': 'brandfill',
    ...Object.fromEntries(
      (options.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    ...Object.fromEntries(credential.headers),
  };

  async function call(path: string, signal: AbortSignal, domain: string): Promise<Answer> {
    const deadline = deadlines.start(signal);
    try {
      const request = { origin: endpoint.origin, path, headers, mostBytes };
      const sentMs = now();
      return interpret(await transport.exchange(request, deadline), path, domain, sentMs);
    } catch (error) {
      signal.throwIfAborted();
      if (isHeadersTooLarge(error)) {
        return { kind: 'refused', httpStatus: undefined, reason: 'response_too_large' };
      }
      return noAnswer(
        error instanceof GivenUpError
          ? { reason: 'timeout', about: 'api' }
          : classifyNetworkError(error),
      );
    } finally {
      deadline.clear();
    }
  }

  /**
   * How much of a body is read: all of an answer, the part of an error that says why, and all of
   * any other body that is short.
   */
  function mostBytes(httpStatus: number, sent: ResponseHeaders): number {
    const declaredBytes = Number(sent['content-length'] ?? Number.NaN);
    const kind = meaningOf(httpStatus);
    if (kind === 'found') return declaredBytes > maxBodyBytes && !isPacked(sent) ? 0 : maxBodyBytes;
    if (declaredBytes <= DISCARDED_BYTES || !READ_KINDS.has(kind)) return DISCARDED_BYTES;
    return ERROR_BODY_BYTES;
  }

  function interpret(response: Exchanged, path: string, asked: string, sentMs: number): Answer {
    const { headers: sent, bodyError } = response;
    if (bodyError instanceof GivenUpError && meaningOf(response.httpStatus) === 'found') {
      throw bodyError;
    }
    const { date } = sent;
    const told = findLimits(sent, {
      date: typeof date === 'string' ? date : undefined,
      sentMs,
      nowMs: now(),
      clock,
      windows,
    });
    return judge({
      ...response,
      domain: asked,
      origin: endpoint.origin,
      path,
      isDoubled: endpoint.isDoubled,
      told,
      body: readBody(response, credential.redactor),
      shapeOf,
    });
  }

  return { call, close: () => transport.close() };
}

/** The meaning of a call without an answer that could be read. */
function noAnswer({ reason, about }: NetworkFailure): Answer {
  // HTTP that cannot be read is an answer, so the API is not away.
  const isAway = reason !== 'invalid_http';
  return {
    kind: 'try_again',
    httpStatus: undefined,
    reason,
    ...(isAway ? { about: about === 'machine' ? 'machine' : 'api' } : {}),
    ...(isAddressReason(reason) ? { sign: reason } : {}),
  };
}
