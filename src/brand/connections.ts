import { createRequire } from 'node:module';
import type { Dispatcher, Pool } from 'undici';
import { findProxy, ProxyError } from './proxy.ts';

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** How many connections are kept. */
  readonly connections: number;
  /** The longest that opening a connection may take. */
  readonly timeoutMs: number;
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
  const options = {
    connections,
    connect: { timeout: timeoutMs },
    // The deadline of each call is exact; undici's own timeouts fire up to a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const proxy = findProxy(origin);
  if (!proxy) return new (poolOfUndici())(origin, options);
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
    proxyTls: { timeout: timeoutMs },
    clientFactory: (url, ofClient) => new Tunnels(url, { ...ofClient, headersTimeout: timeoutMs }),
  });
}

const load = createRequire(import.meta.url);

/**
 * Loads the pool alone. All of undici, with fetch, caches and WebSockets, takes two to three times
 * as long to load, a good part of the time of a short list.
 */
function poolOfUndici(): typeof Pool {
  return load('undici/lib/dispatcher/pool.js') as typeof Pool;
}
