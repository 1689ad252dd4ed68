import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { buildConnector, Client, Dispatcher, Pool } from 'undici';
import { systemErrorCode } from '../common/errors.ts';
import { findProxy, ProxyError } from './proxy.ts';

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** How many connections are kept. */
  readonly connections: number;
  /** The longest that opening a connection may take. */
  readonly timeoutMs: number;
}

/** A place for one connection after another, as the calls over it see it. */
export interface Line {
  /** The connection that was opened last. */
  socket: Socket | undefined;
  /** What had come over it when it was open: of a tunnel, the answer of the proxy. */
  openingBytes: number;
  /**
   * What TLS reported on the connection that was opened last. With TLS 1.3 a server refuses a client
   * only after the handshake, so to undici it is just a connection that the other side closed.
   */
  alert: Error | undefined;
}

/** A request that is told over which line it goes, when it is given to it. */
interface TracedRequest extends Dispatcher.DispatchOptions {
  readonly trace?: Trace | undefined;
}

/** Watches the connection of one request. */
export interface Trace {
  begin(line: Line): void;
}

/**
 * How long one address of a name may take to accept a connection before the next is tried. Node.js
 * gives up the first then, so its own 250 ms are too short for a server far away, while a family
 * that is not routed must leave time for the other. The last address has all the time there is.
 */
export function attemptTimeoutMs(timeoutMs: number): number {
  return Math.max(250, Math.min(timeoutMs / 4, 5_000));
}

/**
 * Opens a pool of connections to an API, through the proxy that the environment names, if any.
 *
 * @throws BrandfillError `INVALID_SETTING` when the URL of the proxy is invalid
 */
export function openConnections({
  origin,
  connections,
  timeoutMs,
}: ConnectionsOptions): Dispatcher {
  const connect = {
    timeout: timeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
  };
  const options = {
    connections,
    connect,
    // The deadline of each call is exact; undici's own timeouts fire up to a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const proxy = findProxy(origin);
  if (!proxy) return openTracedPool(origin, options);
  const { Pool, ProxyAgent } = load('undici') as typeof import('undici');

  /** Asks the proxy for tunnels. */
  class Tunnels extends Pool {
    override async connect(request: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      // Undici retries without end when the proxy closes a tunnel without an answer
      // (UND_ERR_SOCKET).
      const tunnel = await super.connect(request).catch((cause: unknown) => {
        throw new ProxyError(undefined, { cause });
      });
      if (tunnel.statusCode === 200) return tunnel;
      tunnel.socket.on('error', () => {}).destroy();
      throw new ProxyError(tunnel.statusCode);
    }
  }

  return new ProxyAgent({
    ...options,
    uri: proxy.url.href,
    // The deadline of a call does not end the tunnel it asked for, which would take up a connection
    // for minutes.
    proxyTls: connect,
    factory: (api, ofAgent) => openTracedPool(api, ofAgent),
    clientFactory: (url, ofClient) => new Tunnels(url, { ...ofClient, headersTimeout: timeoutMs }),
  });
}

/** Opens a pool whose requests are told over which line they go. */
function openTracedPool(origin: string | URL, options: Pool.Options): Dispatcher {
  const { Pool, Client } = partsOfUndici();

  class TracedClient extends Client {
    readonly #line: Line;

    constructor(url: URL, ofClient: Client.Options) {
      const line: Line = { socket: undefined, openingBytes: 0, alert: undefined };
      super(url, { ...ofClient, connect: traced(ofClient.connect, line) });
      this.#line = line;
    }

    override dispatch(request: TracedRequest, handler: Dispatcher.DispatchHandler): boolean {
      request.trace?.begin(this.#line);
      return super.dispatch(request, handler);
    }
  }

  return new Pool(origin, { ...options, factory: (url, of) => new TracedClient(url, of) });
}

/** Makes a connector keep its last connection in a line. The pool has made a function of it. */
function traced(connect: Client.Options['connect'], line: Line): buildConnector.connector {
  return (options, callback) => {
    line.socket = undefined;
    if (typeof connect !== 'function') throw new TypeError('the pool gives no connector');
    connect(options, (...result) => {
      const [, socket] = result;
      line.socket = socket ?? undefined;
      line.openingBytes = socket?.bytesRead ?? 0;
      line.alert = undefined;
      socket?.prependOnceListener('error', (error) => {
        if (systemErrorCode(error)?.startsWith('ERR_SSL_')) line.alert = error;
      });
      callback(...result);
    });
  };
}

const load = createRequire(import.meta.url);

/**
 * Loads the pool alone. All of undici, with fetch, caches and WebSockets, takes two to three times
 * as long to load, a good part of the time of a short list.
 */
function partsOfUndici(): { readonly Pool: typeof Pool; readonly Client: typeof Client } {
  return {
    Pool: load('undici/lib/dispatcher/pool.js') as typeof Pool,
    Client: load('undici/lib/dispatcher/client.js') as typeof Client,
  };
}
