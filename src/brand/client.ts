import { type Dispatcher, EnvHttpProxyAgent, errors, Pool } from 'undici';
import { BrandfillError } from '../errors.ts';
import { type Answer, findJsonObject, meaningOf } from './answer.ts';
import { ACCEPTED_ENCODINGS, ResponseTooLargeError, readBeginning, readBody } from './body.ts';
import type { Credential } from './credential.ts';
import { createDeadlines } from './deadline.ts';
import type { Endpoint, NameValue } from './endpoint.ts';
import { findLimits, type Limits } from './limit-headers/find-limits.ts';
import type { LimitHints } from './limit-headers/limit-hints.ts';
import { describeNetworkError } from './network-error.ts';

/** Makes calls to the brand API. It neither retries nor paces. */
export interface BrandClient {
  /**
   * Makes one call and says what it brought. Whatever goes wrong on the way is an answer too.
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
/** Enough of an error's body for its reason, however it is indented. */
const ERROR_BODY_BYTES = 4_096;

/** Opens a keep-alive pool to the endpoint, through the proxy that the environment names, if any. */
export function createBrandClient(options: BrandClientOptions): BrandClient {
  const { endpoint, credential, timeoutMs, maxBodyBytes = TEN_MIB, now = Date.now } = options;
  const dispatcher = createDispatcher(options);
  const deadlines = createDeadlines(timeoutMs);
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
      const response = await dispatcher.request({
        origin: endpoint.origin,
        path,
        method: 'GET',
        headers,
        signal: deadline.signal,
      });
      return await interpret(response, path);
    } catch (error) {
      signal.throwIfAborted();
      const reason = deadline.signal.aborted ? 'timeout' : describeNetworkError(error);
      return { kind: 'try_again', httpStatus: undefined, reason, retryAfterMs: undefined };
    } finally {
      deadline.clear();
    }
  }

  async function interpret(response: Dispatcher.ResponseData, path: string): Promise<Answer> {
    const { date } = response.headers;
    const told = findLimits(response.headers, {
      date: typeof date === 'string' ? date : undefined,
      nowMs: now(),
    });
    const answer = await interpretStatus(response, path, told);
    return told?.limits ? { ...answer, limits: told.limits } : answer;
  }

  async function interpretStatus(
    response: Dispatcher.ResponseData,
    path: string,
    told: Limits | undefined,
  ): Promise<Answer> {
    const httpStatus = response.statusCode;
    const kind = meaningOf(httpStatus);
    if (kind === 'found') return await interpretBody(response);
    if (kind === 'rejected' || kind === 'forbidden') {
      return { kind, httpStatus, reason: await reasonFrom(response) };
    }
    if (kind === 'not_found') {
      return { kind, httpStatus, ...((await isPage(response)) ? { isPage: true } : {}) };
    }
    await discard(response);
    switch (kind) {
      case 'redirect':
        return interpretRedirect(httpStatus, response.headers['location'], path);
      case 'refused':
        return { kind, httpStatus, reason: `http_${httpStatus}` };
      case 'quota_used_up': {
        const retryAfterMs = told?.retryAfterMs ?? waitForReset(told?.limits);
        return { kind, httpStatus, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
      }
      case 'throttled':
        return { kind, httpStatus, retryAfterMs: told?.retryAfterMs ?? waitForReset(told?.limits) };
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

  async function interpretBody(response: Dispatcher.ResponseData): Promise<Answer> {
    const httpStatus = response.statusCode;
    try {
      const json = await readBody(response, maxBodyBytes);
      const value = findJsonObject(json);
      if (value) return { kind: 'found', httpStatus, json, value };
    } catch (error) {
      if (error instanceof ResponseTooLargeError) {
        return { kind: 'refused', httpStatus, reason: 'response_too_large' };
      }
      if (error instanceof errors.RequestAbortedError || isAbort(error)) throw error;
    }
    return { kind: 'invalid_response', httpStatus, reason: 'invalid_response' };
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

  async function reasonFrom(response: Dispatcher.ResponseData): Promise<string> {
    const body = await readBeginning(response, ERROR_BODY_BYTES);
    const text = credential.redact(body).replaceAll(/\s+/g, ' ').trim();
    return Array.from(text).slice(0, REASON_LENGTH).join('') || `http_${response.statusCode}`;
  }

  return { call, close: () => dispatcher.destroy() };
}

/** A limit with calls left is not the one that was hit, so its reset says nothing. */
function waitForReset(limits: LimitHints | undefined): number | undefined {
  return limits?.remaining ? undefined : limits?.resetMs;
}

function createDispatcher({ endpoint, connections, timeoutMs }: BrandClientOptions): Dispatcher {
  const options = {
    connections,
    connect: { timeout: timeoutMs },
    // The deadline of each call is exact; undici's own timeouts fire up to a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const proxies = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
  if (!proxies.some((name) => process.env[name])) return new Pool(endpoint.origin, options);
  try {
    return new EnvHttpProxyAgent(options);
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot use the proxy that HTTP_PROXY or HTTPS_PROXY names: expected a URL such as http://proxy.example:3128.',
      { cause: error },
    );
  }
}

/** Whether an error's body is neither JSON nor empty. */
async function isPage(response: Dispatcher.ResponseData): Promise<boolean> {
  const { 'content-type': type, 'content-length': lengthBytes } = response.headers;
  const isJson = String(type).includes('json');
  const isLong = Number(lengthBytes) > ERROR_BODY_BYTES;
  if (!isJson && !isLong) {
    return /^\s*[^\s{[]/.test(await readBeginning(response, ERROR_BODY_BYTES));
  }
  await discard(response);
  return !isJson;
}

/** Empties a body nobody reads, so that its connection can be used again. */
async function discard(response: Dispatcher.ResponseData): Promise<void> {
  try {
    await response.body.dump({ limit: 64 * 1024 });
  } catch {
    // The status said all there is to know.
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
