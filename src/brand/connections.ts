import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { buildConnector, Client, Dispatcher, Pool } from 'undici';
import { loginOf, parseHttpUrl } from '../common/addresses.ts';
import { BrandfillError, systemErrorCode } from '../common/errors.ts';

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

/** A proxy that the environment names. */
export interface Proxy {
  /** The variable that names it, such as `HTTPS_PROXY`. */
  readonly variable: string;
  /** The URL, with user and password if it has them. */
  readonly url: URL;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds the proxy through which calls to an origin go: `HTTPS_PROXY` for https, else `HTTP_PROXY`,
 * unless `NO_PROXY` names the host. Variables in lower case take precedence, as in undici's
 * `EnvHttpProxyAgent`.
 *
 * @throws BrandfillError `INVALID_SETTING` when the URL of the proxy is invalid
 */
export function findProxy(origin: string, env: Environment = process.env): Proxy | undefined {
  const target = new URL(origin);
  const names = target.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  const variable = names.map((name) => nameIn(env, name)).find((name) => env[name]);
  if (variable === undefined || isExempt(target, env)) return undefined;
  const named = env[variable] ?? '';
  const url = parse(named);
  if (!url) {
    const why = /^\s*socks/i.test(named)
      ? 'it is for SOCKS, and calls go through HTTP proxies only; '
      : '';
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot use the proxy that ${variable} names: ${why}expected a URL such as http://proxy.example:3128.`,
    );
  }
  return { variable, url };
}

/**
 * Says in a sentence that calls go through a proxy and which variable names it. User and password
 * are left out.
 */
export function describeProxy({ variable, url }: Proxy): string {
  return `Calls go through the proxy at ${url.host}, which ${variable} names.`;
}

/**
 * Undici supports SOCKS too, but only as an experiment that prints a warning and speaks TLS to the
 * proxy, which no SOCKS proxy expects.
 */
function parse(given: string): URL | undefined {
  try {
    const url = parseHttpUrl(given);
    if (url) decodeURIComponent(url.username + url.password); // throws as undici will
    return url;
  } catch {
    return undefined;
  }
}

/** What an environment holds as users and passwords of proxies, whichever of them is used. */
export function proxyLogins(env: Environment): readonly string[] {
  return ['HTTP_PROXY', 'HTTPS_PROXY']
    .map((name) => loginOf(env[nameIn(env, name)] ?? ''))
    .filter((login) => login !== undefined);
}

function nameIn(env: Environment, name: string): string {
  const inLowerCase = name.toLowerCase();
  return env[inLowerCase] === undefined ? name : inLowerCase;
}

/**
 * Whether `NO_PROXY` is `*` or names the host or a parent domain of it, each with or without the
 * port.
 */
function isExempt({ hostname, port, protocol }: URL, env: Environment): boolean {
  const list = env[nameIn(env, 'NO_PROXY')] ?? '';
  if (list === '*') return true;
  const itsPort = port === '' ? { 'http:': '80', 'https:': '443' }[protocol] : port;
  return list.split(/[,\s]+/).some((entry) => {
    const [, before = entry, onlyPort = itsPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const name = before.replace(/^\*?\./, '').toLowerCase();
    return name !== '' && onlyPort === itsPort && `.${hostname}`.endsWith(`.${name}`);
  });
}

/** A proxy refused a tunnel or could not be reached. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  /** The status that the proxy answered, if it did. */
  readonly httpStatus: number | undefined;

  constructor(httpStatus: number | undefined, options?: ErrorOptions) {
    super('the proxy made no tunnel', options);
    this.httpStatus = httpStatus;
  }
}
