import type { LimitHints } from '../common/limit-hints.ts';
import { type Answer, meaningOf, type StatusMeaning } from './answer.ts';
import { textAsDeclared, textOf } from './body-text.ts';
import { openConnections } from './connections.ts';
import type { Credential } from './credential.ts';
import { createDeadlines } from './deadline.ts';
import type { Endpoint, NameValue } from './endpoint.ts';
import {
  ACCEPTED_ENCODINGS,
  type Exchanged,
  exchange,
  GivenUpError,
  isPacked,
  type ResponseHeaders,
} from './exchange.ts';
import { findRoundedJsonObject } from './json-object.ts';
import { findLimits, type Limits } from './limit-headers/find-limits.ts';
import { createServerClock } from './limit-headers/server-clock.ts';
import { createWindowFinder } from './limit-headers/window-finder.ts';
import { describeNetworkError, isHeadersTooLarge } from './network-error.ts';
import { createShapeFinder } from './shape.ts';

/** Makes calls to the brand API. It neither retries nor paces. */
export interface BrandClient {
  /**
   * Makes one call and says what it brought. Network errors and timeouts are answers too.
   *
   * @param path as `Endpoint.path` or a redirect's answer gives it
   * @param signal gives the call up at once
   * @throws the signal's reason, and nothing else
   */
  call(path: string, signal: AbortSignal): Promise<Answer>;
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
const REASON_LENGTH = 200;
/** Enough of an error's body to hold its reason, however it is indented. */
const ERROR_BODY_BYTES = 4_096;
/** A body that is shorter is read to its end, so that its connection can be used again. */
const DISCARDED_BYTES = 64 * 1024;
/** Errors whose body is read for a reason. */
const READ_KINDS: ReadonlySet<StatusMeaning> = new Set(['rejected', 'forbidden', 'not_found']);

/**
 * Opens a keep-alive pool to the endpoint, through the proxy that the environment names, if any.
 */
export function createBrandClient(options: BrandClientOptions): BrandClient {
  const { endpoint, credential, connections, timeoutMs } = options;
  const { maxBodyBytes = TEN_MIB, now = Date.now } = options;
  const dispatcher = openConnections({ origin: endpoint.origin, connections, timeoutMs });
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

  async function call(path: string, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const deadline = deadlines.start(signal);
    try {
      const request = { origin: endpoint.origin, path, headers, mostBytes };
      const sentMs = now();
      return interpret(await exchange(dispatcher, request, deadline), path, sentMs);
    } catch (error) {
      signal.throwIfAborted();
      if (isHeadersTooLarge(error)) {
        return { kind: 'refused', httpStatus: undefined, reason: 'response_too_large' };
      }
      const reason = error instanceof GivenUpError ? 'timeout' : describeNetworkError(error);
      return { kind: 'try_again', httpStatus: undefined, reason, retryAfterMs: undefined };
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

  function interpret(response: Exchanged, path: string, sentMs: number): Answer {
    const { date } = response.headers;
    const told = findLimits(response.headers, {
      date: typeof date === 'string' ? date : undefined,
      sentMs,
      nowMs: now(),
      clock,
      windows,
    });
    const answer = interpretStatus(response, path, told);
    return told?.limits ? { ...answer, limits: told.limits } : answer;
  }

  function interpretStatus(response: Exchanged, path: string, told: Limits | undefined): Answer {
    const { httpStatus, headers: sent } = response;
    const kind = meaningOf(httpStatus);
    switch (kind) {
      case 'found':
        return interpretBody(response);
      case 'rejected':
      case 'forbidden':
        return { kind, httpStatus, reason: reasonFrom(response), ...pageIf(isHtml(response)) };
      case 'not_found':
        return {
          kind,
          httpStatus,
          ...pageIf(isPage(response)),
          ...(endpoint.isDoubled ? { isDoubled: true } : {}),
        };
      case 'redirect':
        return interpretRedirect(httpStatus, sent['location'], path);
      case 'refused':
        return { kind, httpStatus, reason: `http_${httpStatus}` };
      case 'quota_used_up': {
        const retryAfterMs = told?.retryAfterMs ?? waitForReset(told?.limits);
        return { kind, httpStatus, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
      }
      case 'throttled':
        return { kind, httpStatus, retryAfterMs: told?.retryAfterMs ?? waitForReset(told?.limits) };
      case 'pending':
        return { kind, httpStatus, retryAfterMs: told?.retryAfterMs };
      case 'try_again':
        return {
          kind,
          httpStatus,
          reason: `http_${httpStatus}`,
          retryAfterMs: told?.retryAfterMs,
        };
      default:
        return { kind, httpStatus };
    }
  }

  function interpretBody({
    httpStatus,
    headers: sent,
    bytes,
    isCut,
    bodyError,
  }: Exchanged): Answer {
    if (bodyError instanceof GivenUpError) throw bodyError;
    if (isCut) return { kind: 'refused', httpStatus, reason: 'response_too_large' };
    const answer = bodyError
      ? undefined
      : (findAnswer(httpStatus, textOf(bytes)) ??
        findAnswer(httpStatus, textAsDeclared(bytes, sent['content-type'])));
    return answer ?? { kind: 'invalid_response', httpStatus, reason: 'invalid_response' };
  }

  function findAnswer(httpStatus: number, json: string | undefined): Answer | undefined {
    const value = json === undefined ? undefined : findRoundedJsonObject(json);
    return json !== undefined && value
      ? { kind: 'found', httpStatus, json, shape: shapeOf(value) }
      : undefined;
  }

  function interpretRedirect(
    httpStatus: number,
    location: string | string[] | undefined,
    path: string,
  ): Answer {
    const asked = endpoint.origin + path;
    if (typeof location !== 'string' || !URL.canParse(location, asked)) {
      return { kind: 'refused', httpStatus, reason: `http_${httpStatus}` };
    }
    const target = new URL(location, asked);
    // The credential goes to the origin it was given for, and to no other.
    return target.origin === endpoint.origin
      ? { kind: 'redirect', httpStatus, path: target.pathname + target.search }
      : { kind: 'refused', httpStatus, reason: 'redirect_to_another_origin' };
  }

  function reasonFrom({ bytes, httpStatus }: Exchanged): string {
    const body = bytes.toString('utf8', 0, ERROR_BODY_BYTES);
    const text = credential.redact(body).replaceAll(/\s+/g, ' ').trim();
    return Array.from(text).slice(0, REASON_LENGTH).join('') || `http_${httpStatus}`;
  }

  return { call, close: () => dispatcher.destroy() };
}

/**
 * The reset of a limit. A limit with calls left is not the one that was hit, so its reset is
 * ignored.
 */
function waitForReset(limits: LimitHints | undefined): number | undefined {
  return limits?.remaining ? undefined : limits?.resetMs;
}

function pageIf(isOne: boolean): { readonly isPage?: boolean } {
  return isOne ? { isPage: true } : {};
}

/** Whether an error's body is HTML. */
function isHtml({ bytes }: Exchanged): boolean {
  return /^\s*<(!doctype html|html)\b/i.test(bytes.toString('utf8', 0, ERROR_BODY_BYTES));
}

/** Whether an error's body is neither JSON nor empty. */
function isPage({ headers, bytes }: Exchanged): boolean {
  const { 'content-type': type } = headers;
  return (
    !String(type).includes('json') &&
    /^\s*[^\s{[]/.test(bytes.toString('utf8', 0, ERROR_BODY_BYTES))
  );
}
