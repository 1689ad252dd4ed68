import type { Dispatcher } from 'undici';
import { systemErrorCode } from '../common/errors.ts';
import { type Answer, ERROR_BODY_BYTES, judge, meaningOf } from './answer.ts';
import type { AnswerFacts, BatchProfile } from './api-profile.ts';
import { BodyText } from './body-text.ts';
import {
  type ConnectionsOptions,
  findProxy,
  type Line,
  openConnections,
  type Trace,
} from './connections.ts';
import type { Credential } from './credential.ts';
import type { Endpoint, NameValue } from './endpoint.ts';
import {
  ACCEPTED_ENCODINGS,
  createDeadlines,
  type Deadline,
  type Exchanged,
  type ExchangeRequest,
  exchange,
  GivenUpError,
  isPacked,
  type ResponseHeaders,
} from './exchange.ts';
import {
  InvalidHttpError,
  type LenientConnections,
  openLenientConnections,
} from './lenient-http.ts';
import { findLimits, type Reading } from './limit-headers/find-limits.ts';
import { createServerClock } from './limit-headers/time.ts';
import { createWindowFinder } from './limit-headers/window-finder.ts';
import {
  classifyNetworkError,
  isAddressReason,
  isHeadersTooLarge,
  type NetworkFailure,
} from './network-error.ts';
import { createShapeFinder } from './shape.ts';

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
  /**
   * Makes one call about several domains.
   *
   * @param batch how the API is asked about them
   * @throws the signal's reason, and nothing else
   */
  callBatch(
    batch: BatchProfile,
    domains: readonly string[],
    signal: AbortSignal,
  ): Promise<BatchReply>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** What one call about several domains brought. */
export interface BatchReply {
  /** The reply as a whole, for the pace; an answer about no domain when there are `answers`. */
  readonly answer: Answer;
  /** What it says of each domain; a domain that it is silent about is not in it. */
  readonly answers: ReadonlyMap<string, Answer> | undefined;
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
  const { profile } = endpoint;
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
      return answerTo(error);
    } finally {
      deadline.clear();
    }
  }

  async function callBatch(
    batch: BatchProfile,
    domains: readonly string[],
    signal: AbortSignal,
  ): Promise<BatchReply> {
    const deadline = deadlines.start(signal);
    const { method } = batch;
    const body = batch.bodyOf(domains);
    const path = endpoint.batchPath(batch, domains);
    const ofBody = body === undefined ? {} : { 'content-type': 'application/json' };
    try {
      const request = {
        origin: endpoint.origin,
        path,
        method,
        body,
        headers: { ...ofBody, ...headers },
        mostBytes,
      };
      const sentMs = now();
      const response = await transport.exchange(request, deadline);
      return interpretBatch(response, { batch, domains, path, sentMs });
    } catch (error) {
      signal.throwIfAborted();
      return { answer: answerTo(error), answers: undefined };
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
    // Of an API with a profile any status may bring an answer, or say in its body what it means.
    if (kind === 'found' || profile)
      return declaredBytes > maxBodyBytes && !isPacked(sent) ? 0 : maxBodyBytes;
    if (declaredBytes <= DISCARDED_BYTES || !READ_KINDS.has(kind)) return DISCARDED_BYTES;
    return ERROR_BODY_BYTES;
  }

  function interpret(response: Exchanged, path: string, asked: string, sentMs: number): Answer {
    const { headers: sent, bodyError } = response;
    if (bodyError instanceof GivenUpError && meaningOf(response.httpStatus) === 'found') {
      throw bodyError;
    }
    const reading = readingOf(sent, sentMs);
    const stated = (profile?.findLimits ?? findLimits)(sent, reading);
    const body = new BodyText(response, credential.redactor);
    // Written out: a spread costs a microsecond, as much as reading a body.
    const { httpStatus, bytes, isCut } = response;
    const facts: AnswerFacts | undefined = profile && {
      httpStatus,
      headers: sent,
      json: () => body.json,
      reading,
    };
    const answer = judge({
      httpStatus,
      headers: sent,
      bytes,
      isCut,
      bodyError,
      domain: asked,
      origin: endpoint.origin,
      path,
      isDoubled: endpoint.isDoubled,
      stated,
      body,
      shapeOf,
      profile,
      meaning: facts && profile?.meaningOf(facts),
    });
    const billing = facts && profile?.billing;
    return billing ? { ...answer, costMicros: billing.costOf(answer, facts) } : answer;
  }

  function readingOf({ date }: ResponseHeaders, sentMs: number): Reading {
    return {
      date: typeof date === 'string' ? date : undefined,
      sentMs,
      nowMs: now(),
      clock,
      windows,
    };
  }

  /** Each answer in a reply is judged as if it had come alone, without the headers, which are all's. */
  function interpretBatch(
    response: Exchanged,
    { batch, domains, path, sentMs }: AskedTogether,
  ): BatchReply {
    const { httpStatus, headers: sent } = response;
    const isGood = httpStatus >= 200 && httpStatus < 300;
    const json = isGood ? new BodyText(response, credential.redactor).json : undefined;
    const said = json === undefined ? undefined : batch.answersIn(json, domains);
    if (!said) {
      const answer = interpret(response, path, domains.join(','), sentMs);
      return { answer, answers: undefined };
    }
    const reading = readingOf(sent, sentMs);
    // A cost in the headers of a reply is that of all its answers.
    const stated = profile?.billing?.statedIn({
      httpStatus,
      headers: sent,
      json: () => json,
      reading,
    });
    let costMicros = 0;
    const answers = new Map<string, Answer>();
    for (const [domain, one] of said) {
      const hasBody = one.body !== undefined && one.body !== null;
      const alone: Exchanged = {
        httpStatus: one.httpStatus ?? (hasBody ? httpStatus : 404),
        headers: { 'content-type': 'application/json' },
        bytes: Buffer.from(hasBody ? JSON.stringify(one.body) : ''),
        isCut: false,
        bodyError: undefined,
      };
      const judged = interpret(alone, path, domain, sentMs);
      const ofOne =
        stated === undefined ? judged : { ...judged, costMicros: answers.size === 0 ? stated : 0 };
      costMicros += ofOne.costMicros ?? 0;
      answers.set(domain, ofOne);
    }
    const { limits } = (profile?.findLimits ?? findLimits)(sent, reading) ?? {};
    const answer: Answer = { kind: 'found', httpStatus, json: '', shape: undefined, costMicros };
    return { answer: limits ? { ...answer, limits } : answer, answers };
  }

  return { call, callBatch, close: () => transport.close() };
}

interface AskedTogether {
  readonly batch: BatchProfile;
  readonly domains: readonly string[];
  readonly path: string;
  readonly sentMs: number;
}

function answerTo(error: unknown): Answer {
  if (isHeadersTooLarge(error)) {
    return { kind: 'refused', httpStatus: undefined, reason: 'response_too_large' };
  }
  return noAnswer(
    error instanceof GivenUpError
      ? { reason: 'timeout', about: 'api' }
      : classifyNetworkError(error),
  );
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

/**
 * Carries calls to one API, and puts up with the servers that people have. A call goes over a
 * connection that is kept, until the API shows that
 *
 * - it resets connections that were used before: such a call is made once more over a connection of
 *   its own, and after a few of them every call gets its own for a while;
 * - its answers are no strict HTTP: such a call is made once more with a reader that is not strict,
 *   which all later calls use at once.
 *
 * So one call makes two requests at most. The second is the same call: to the first there was no
 * answer, or none that could be read.
 */
interface Transport {
  /**
   * Makes one request, within one deadline.
   *
   * @throws what `exchange` throws, and `InvalidHttpError` for an answer that is no HTTP
   */
  exchange(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged>;
  /** Closes all connections. */
  close(): Promise<void>;
}

interface TransportOptions extends ConnectionsOptions {
  /** Milliseconds since any moment. @default performance.now */
  readonly now?: () => number;
}

/**
 * A stale connection counts as much as this many calls over used connections that were answered.
 * Where fewer than three such calls in four go well, keeping connections does not pay.
 */
const STALE_WEIGHT = 4;
/** From here on every call gets its own connection. A few stale ones are part of any long run. */
const MOST_STALE = 5 * STALE_WEIGHT;
/** After this time connections are kept again: a server that was restarted resets all of them. */
const SEPARATE_MS = 10 * 60_000;

/**
 * Opens connections to an API, through the proxy that the environment names, if any.
 *
 * @throws BrandfillError `INVALID_SETTING` when the URL of the proxy is invalid
 */
function openTransport({ now = () => performance.now(), ...options }: TransportOptions): Transport {
  const kept = openConnections(options);
  const hasProxy = findProxy(options.origin) !== undefined;
  let separate: Dispatcher | undefined;
  let lenient: LenientConnections | undefined;
  let staleScore = 0;
  let separateUntilMs = Number.NEGATIVE_INFINITY;

  async function overKept(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged> {
    const trace = new LineTrace();
    try {
      const exchanged = await exchange(kept, request, deadline, { trace });
      if (staleScore > 0 && trace.wasUsed) staleScore = Math.max(0, staleScore - 1);
      return exchanged;
    } catch (error) {
      if (!trace.isStale(error)) throw trace.alert ?? error;
      staleScore += STALE_WEIGHT;
      if (staleScore >= MOST_STALE) {
        separateUntilMs = now() + SEPARATE_MS;
        staleScore = MOST_STALE - STALE_WEIGHT; // then one more shows that nothing has changed
      }
      return await overSeparate(request, deadline);
    }
  }

  /** Makes a call over a connection that no other call has used or will use. */
  function overSeparate(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged> {
    separate ??= openConnections(options);
    return exchange(separate, request, deadline, { isLast: true });
  }

  return {
    async exchange(request, deadline) {
      if (lenient) return await exchange(lenient, request, deadline);
      try {
        const isSeparate = now() < separateUntilMs;
        const exchanged = await (isSeparate ? overSeparate : overKept)(request, deadline);
        if (hasProxy || !isUnparsable(exchanged.bodyError)) return exchanged;
      } catch (error) {
        if (!isUnparsable(error) && !isMismatch(error)) throw error;
        if (hasProxy) throw new InvalidHttpError(error.message, { cause: error });
      }
      lenient ??= openLenientConnections(options);
      return await exchange(lenient, request, deadline);
    },
    async close() {
      await Promise.all([kept.destroy(), separate?.destroy(), lenient?.destroy()]);
    },
  };
}

class LineTrace implements Trace {
  #line: Line | undefined;
  #socket: Line['socket'];
  #bytesBefore = 0;

  begin(line: Line): void {
    this.#line = line;
    this.#socket = line.socket;
    this.#bytesBefore = line.socket?.bytesRead ?? 0;
  }

  /** What TLS reported on its connection, which says more than that it was closed. */
  get alert(): Error | undefined {
    return this.#line?.alert;
  }

  /** Whether the connection of a call that has ended had been used before. */
  get wasUsed(): boolean {
    const line = this.#line;
    // The line opens another connection for the call when the one it had is closed.
    return (
      line !== undefined &&
      this.#socket !== undefined &&
      this.#socket === line.socket &&
      this.#bytesBefore > line.openingBytes
    );
  }

  /**
   * Whether an error broke a connection that had been used before, and no byte of an answer had
   * come: the server closed it while the call was on its way.
   */
  isStale(error: unknown): boolean {
    return (
      /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/.test(systemErrorCode(error) ?? '') &&
      this.wasUsed &&
      this.#socket?.bytesRead === this.#bytesBefore
    );
  }
}

/**
 * Whether undici's parser refused an answer; for a 100 that nobody asked for it says `bad
 * response`. A body that only ended too early is another matter.
 */
function isUnparsable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error.name === 'HTTPParserError') return !error.message.includes('EOF');
  return /^bad (response|upgrade)$/.test(error.message);
}

/**
 * Whether the error is how undici's parser refuses a Content-Length beside a Transfer-Encoding, or
 * one that is no number. When there is a body already, it means that this was cut off.
 */
function isMismatch(error: unknown): error is Error {
  return systemErrorCode(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
}
