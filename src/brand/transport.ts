import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateSync, type ZlibOptions } from 'node:zlib';
import type { buildConnector, Client, Dispatcher, Pool } from 'undici';
import { systemErrorCode } from '../common/errors.ts';
import { findProxy, ProxyError } from './proxy.ts';

/** Header names are in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A response, with as much of its body as was asked for. */
export interface Exchanged {
  readonly httpStatus: number;
  readonly headers: ResponseHeaders;
  /** The body, decompressed. */
  readonly bytes: Buffer;
  /** Whether the body was longer than `bytes`. */
  readonly isCut: boolean;
  /** What broke the body off, or failed its decompression; undefined when it is complete. */
  readonly bodyError: Error | undefined;
}

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** @default GET */
  readonly method?: 'GET' | 'POST' | undefined;
  /** @default no body */
  readonly body?: string | undefined;
  /**
   * Whether it goes over a connection of its own.
   *
   * @default where the same call went wrong before
   */
  readonly isApart?: boolean | undefined;
  /**
   * How much of the body to read, in bytes after decompression. Past that the connection is closed.
   */
  readonly mostBytes: (httpStatus: number, headers: ResponseHeaders) => number;
}

export interface ExchangeLimits {
  /** The longest that the call may take, from its start to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Gives the call up at once. */
  readonly signal: AbortSignal;
}

/**
 * A connection that was kept was closed by the other side just as a call was sent over it. The same
 * call may be made again, over a connection of its own.
 */
export class ClosedConnectionError extends Error {
  override readonly name = 'ClosedConnectionError';
}

/** The encodings that servers are asked for. `deflate` is read, too. */
export const ACCEPTED_ENCODINGS = 'gzip, br';

/** The time of a call was over, or its caller gave it up. */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';
  readonly code = 'ETIMEDOUT';
}

/**
 * Makes one request and reads its body, as it arrives from undici, as far as it is asked for.
 *
 * @throws GivenUpError when the time is over before there is a response
 * @throws the error that kept the response from coming. A body that breaks off or takes too long is
 *   reported in `bodyError` instead
 */
function exchange(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  { origin, path, headers, mostBytes, method = 'GET', body }: ExchangeRequest,
  { timeoutMs, signal }: ExchangeLimits,
  way: Way = {},
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader(mostBytes, resolve, reject);
    if (signal.aborted) return reader.giveUp();
    reader.limit(timeoutMs, signal);
    const options = { method, origin, path, headers, body: body ?? null, way };
    dispatcher.dispatch(options, reader);
  });
}

/** Over which connection a call went. */
interface Way {
  connection?: () => Socket | undefined;
}

const NO_HEADERS: ResponseHeaders = {};
const NOTHING = Buffer.alloc(0);

/** Takes one response from undici. */
class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #mostBytes: ExchangeRequest['mostBytes'];
  readonly #resolve: (exchanged: Exchanged) => void;
  readonly #reject: (error: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #group: ResponseReader[] | undefined;
  #place = 0;
  #httpStatus = 0;
  #headers = NO_HEADERS;
  #most = 0;
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #isSettled = false;

  constructor(
    mostBytes: ExchangeRequest['mostBytes'],
    resolve: (exchanged: Exchanged) => void,
    reject: (error: Error) => void,
  ) {
    this.#mostBytes = mostBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  limit(timeoutMs: number, signal: AbortSignal): void {
    this.#group = callsUnder(signal);
    this.#place = this.#group.push(this) - 1;
    // A process that was frozen (a laptop that slept) reads the answers in its connections first.
    this.#timer = setTimeout(() => setImmediate(() => this.giveUp()), timeoutMs).unref();
  }

  giveUp(): void {
    this.#end(new GivenUpError('the call was given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Undici ignores an abort before there is a connection.
    if (this.#isSettled) this.#drop();
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    httpStatus: number,
    headers: ResponseHeaders,
  ): void {
    if (httpStatus < 200) return;
    this.#httpStatus = httpStatus;
    this.#headers = headers;
    this.#most = this.#mostBytes(httpStatus, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#isSettled) return;
    this.#chunks.push(bytes);
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > this.#most) this.#settle(undefined);
  }

  onResponseEnd(): void {
    this.#settle(undefined);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  /** Ends with an error. If the response has begun, what came so far is returned. */
  #end(error: Error): void {
    if (this.#httpStatus !== 0) return this.#settle(error);
    if (this.#isSettled) return;
    this.#finish();
    this.#drop();
    this.#reject(error);
  }

  #settle(bodyError: Error | undefined): void {
    if (this.#isSettled) return;
    this.#finish();
    const isCut = this.#sizeBytes > this.#most;
    const [first = NOTHING] = this.#chunks;
    const whole = this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks);
    const bytes = isCut ? whole.subarray(0, this.#most) : whole;
    this.#chunks = [];
    if (isCut || bodyError) this.#drop();
    const [httpStatus, headers] = [this.#httpStatus, this.#headers];
    const came: Exchanged = { httpStatus, headers, bytes, isCut, bodyError };
    const isPacked = headers['content-encoding'] !== undefined && bytes.length > 0;
    this.#resolve(isPacked && !isCut && !bodyError ? unpack(came, this.#most) : came);
  }

  #finish(): void {
    this.#isSettled = true;
    clearTimeout(this.#timer);
    const last = this.#group?.pop();
    if (!this.#group || !last || last === this) return;
    this.#group[this.#place] = last;
    last.#place = this.#place;
  }

  /** Closes the connection and ignores the rest of the body. */
  #drop(): void {
    this.#controller?.abort(new GivenUpError('nobody reads on'));
  }
}

/** A body has an encoding that is not known here. */
export class UnknownEncodingError extends Error {
  override readonly name = 'UnknownEncodingError';
}

const UNPACKERS: ReadonlyMap<string, (bytes: Buffer, options: ZlibOptions) => Buffer> = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['br', brotliDecompressSync],
  ['deflate', inflateSync],
  ['identity', (bytes: Buffer) => bytes],
]);

/** Undoes the encodings of a body, the last one first. */
function unpack(came: Exchanged, most: number): Exchanged {
  const codings = [came.headers['content-encoding'] ?? []].flat().join(',').toLowerCase();
  let { bytes } = came;
  for (const coding of codings.split(',').toReversed()) {
    const undo = UNPACKERS.get(coding.trim());
    if (!undo) return { ...came, bodyError: new UnknownEncodingError(coding) };
    try {
      bytes = undo(bytes, { maxOutputLength: most });
    } catch (error) {
      const isCut = systemErrorCode(error) === 'ERR_BUFFER_TOO_LARGE';
      const bodyError = error instanceof Error ? error : new Error('not packed as it says');
      return { ...came, bytes: NOTHING, isCut, bodyError: isCut ? undefined : bodyError };
    }
  }
  return { ...came, bytes };
}

/**
 * The calls under each signal, which thereby has one listener instead of one for each call. No
 * sets: a set that is filled and emptied all the time keeps most of what was in it until all of
 * memory is collected, since each of its tables holds the next one.
 */
const CALLS = new WeakMap<AbortSignal, ResponseReader[]>();

function callsUnder(signal: AbortSignal): ResponseReader[] {
  const known = CALLS.get(signal);
  if (known) return known;
  const calls: ResponseReader[] = [];
  CALLS.set(signal, calls);
  signal.addEventListener('abort', () => {
    for (const call of calls.slice()) call.giveUp(); // which removes it
  });
  return calls;
}

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** How many connections are kept. */
  readonly connections: number;
  /** The longest that opening a connection may take. */
  readonly timeoutMs: number;
}

/**
 * How long one address of a name may take to accept a connection before the next is tried. Node.js
 * gives up the first then, so its own 250 ms are too short for a server far away, while a family
 * that is not routed must leave time for the other. The last address has all the time there is.
 */
function attemptTimeoutMs(timeoutMs: number): number {
  return Math.max(250, Math.min(timeoutMs / 4, 5_000));
}

/**
 * Opens a pool of connections to an API, through the proxy that the environment names, if any.
 *
 * @throws BrandfillError `INVALID_SETTING` when the URL of the proxy is invalid
 */
function openConnections(
  { origin, connections, timeoutMs }: ConnectionsOptions,
  { areKept = true } = {},
): Dispatcher {
  const connect = {
    timeout: timeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
  };
  const pipelining = areKept ? 1 : 0;
  // The time of each call is exact; undici's own timeouts fire up to a second late.
  const options = { connections, connect, pipelining, headersTimeout: 0, bodyTimeout: 0 };
  const Pool = loadPool();
  const proxy = findProxy(origin);
  if (!proxy) return new Pool(origin, { ...options, factory: openClient });
  const { ProxyAgent } = load('undici') as typeof import('undici');
  return new ProxyAgent({
    ...options,
    uri: proxy.url.href,
    proxyTls: connect,
    clientFactory: (url, of) => {
      // The end of a call does not end the tunnel it asked for, which would take up a connection
      // for minutes.
      const tunnels = new Pool(url, { ...of, headersTimeout: timeoutMs });
      return Object.assign(tunnels, { connect: tunnelWith(tunnels.connect.bind(tunnels)) });
    },
  });
}

/** Makes an error of the proxy tell that it is one. */
function tunnelWith(
  connect: (request: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>,
): typeof connect {
  return async (request) => {
    // Undici retries without end when the proxy closes a tunnel without an answer (UND_ERR_SOCKET).
    const tunnel = await connect(request).catch((cause: unknown) => {
      throw new ProxyError(undefined, { cause });
    });
    if (tunnel.statusCode === 200) return tunnel;
    tunnel.socket.on('error', () => {}).destroy();
    throw new ProxyError(tunnel.statusCode);
  };
}

const load = createRequire(import.meta.url);

/** A client, which has one connection, that tells each call which one that is. */
function openClient(origin: URL, options: Client.Options): Dispatcher {
  const connect = options.connect as buildConnector.connector;
  let connection: Socket | undefined;
  const client = new (load('undici/lib/dispatcher/client.js') as typeof Client)(origin, {
    ...options,
    connect: (to, done) =>
      connect(to, (...[error, socket]) => {
        connection = socket ?? undefined;
        if (error) done(error, null);
        else done(null, socket);
      }),
  });
  const dispatch = client.dispatch.bind(client);
  return Object.assign(client, {
    dispatch: (call: Dispatcher.DispatchOptions & { way?: Way }, handler: DispatchHandler) => {
      if (call.way) call.way.connection = () => connection;
      return dispatch(call, handler);
    },
  });
}

type DispatchHandler = Dispatcher.DispatchHandler;

/**
 * Loads the pool alone. All of undici, with fetch, caches and WebSockets, takes two to three times
 * as long to load, a good part of the time of a short list.
 */
function loadPool(): typeof Pool {
  return load('undici/lib/dispatcher/pool.js') as typeof Pool;
}

/** Carries calls to one API. */
export interface Transport {
  /**
   * Makes one request, and never a second.
   *
   * @throws ClosedConnectionError; what `exchange` throws
   */
  exchange(request: ExchangeRequest, signal: AbortSignal): Promise<Exchanged>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * A reset counts as much as this many answers: where fewer than three calls in four go well,
 * keeping connections does not pay.
 */
const RESET_WEIGHT = 4;
const MOST_RESETS = 5 * RESET_WEIGHT;
/** So many calls that went wrong are known until they are made again. */
const MOST_WRONG = 1_000;
const MOST_MENDED = 10;
/** What a limit answers, whichever machine gives it. */
const TOO_MANY = 429;
/** After this time connections are kept again: a server that was restarted resets all of them. */
const SEPARATE_MS = 10 * 60_000;

/**
 * Opens connections to an API. Nothing is repeated here, so that each request is a call that was
 * asked for. A call that went wrong gets a connection of its own when it is made again: over a kept
 * one the same machine of several would answer. While that mends most of them, a connection over
 * which a call went wrong is not kept. Where that was closed it says so, and after a few
 * of them all calls get one of their own for a while.
 */
export function openTransport(options: ConnectionsOptions): Transport {
  const { connections, timeoutMs } = options;
  const kept = openConnections(options);
  let separate: Dispatcher | undefined;
  /** Connections that may have been kept and not been reset since. None before the first answer. */
  let unbroken = 0;
  let resets = 0;
  let separateUntilMs = 0;
  /** Calls that went wrong, and may be made again. */
  const wrong = new Set<string>();
  /** How many more of those that were made again went well then than did not. */
  let mended = 0;

  function noteWrong(request: ExchangeRequest): void {
    const [oldest] = wrong;
    if (wrong.size >= MOST_WRONG && oldest !== undefined) wrong.delete(oldest);
    wrong.add(callOf(request));
  }

  const wasWrong = (request: ExchangeRequest): boolean =>
    wrong.size > 0 && wrong.delete(callOf(request));

  function noteAgain({ httpStatus }: Exchanged): void {
    const now = mended + (httpStatus < 300 ? 1 : -1);
    mended = Math.max(-MOST_MENDED, Math.min(MOST_MENDED, now));
  }

  function noteReset(): void {
    unbroken -= 1;
    resets += RESET_WEIGHT;
    if (resets < MOST_RESETS) return;
    resets -= RESET_WEIGHT; // then one more shows that nothing has changed
    separateUntilMs = performance.now() + SEPARATE_MS;
  }

  function note(request: ExchangeRequest, exchanged: Exchanged): Exchanged {
    if (isWrong(exchanged)) noteWrong(request);
    return exchanged;
  }

  return {
    async exchange(request, signal) {
      const isAgain = wasWrong(request);
      const isApart = isAgain || request.isApart === true;
      if (isApart || performance.now() < separateUntilMs) {
        separate ??= openConnections(options, { areKept: false });
        const exchanged = await exchange(separate, request, { timeoutMs, signal });
        if (isAgain) noteAgain(exchanged);
        return note(request, exchanged);
      }
      try {
        const way: Way = {};
        const exchanged = await exchange(kept, request, { timeoutMs, signal }, way);
        if (mended >= 0 && isOfMachine(exchanged)) way.connection?.()?.destroy();
        unbroken = connections;
        if (resets > 0) resets -= 1;
        return note(request, exchanged);
      } catch (error) {
        if (!isReset(error) || unbroken === 0) throw error;
        noteWrong(request);
        noteReset();
        throw new ClosedConnectionError('a kept connection was closed', { cause: error });
      }
    },
    async close() {
      await Promise.all([kept.destroy(), separate?.destroy()]);
    },
  };
}

/** Whether another machine might answer otherwise. */
const isWrong = (came: Exchanged): boolean =>
  (came.httpStatus >= 300 && came.httpStatus !== TOO_MANY) || isPage(came);

/** Whether a machine may answer so whatever it is asked. */
const isOfMachine = (came: Exchanged): boolean =>
  came.httpStatus >= 500 || DENIED.has(came.httpStatus) || isPage(came);

const DENIED: ReadonlySet<number> = new Set([401, 403]);

const isPage = ({ headers }: Exchanged): boolean =>
  String(headers['content-type']).startsWith('text/html');

const callOf = ({ path, body = '' }: ExchangeRequest): string => `${path} ${body}`;

function isReset(error: unknown): boolean {
  return /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/.test(systemErrorCode(error) ?? '');
}
