import { createRequire } from 'node:module';
import type { Dispatcher, Pool } from 'undici';
import { BrandfillError } from '../common/errors.ts';

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** How many connections are kept. */
  readonly connections: number;
  /** The longest that connecting may take. */
  readonly timeoutMs: number;
}

const PROXIES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];

/**
 * Keeps connections to an API, through the proxy that the environment names, if any.
 *
 * @throws BrandfillError `INVALID_SETTING` when the proxy cannot be one
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
  if (!PROXIES.some((name) => process.env[name])) return new (poolOfUndici())(origin, options);
  const { EnvHttpProxyAgent } = load('undici') as typeof import('undici');
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

const load = createRequire(import.meta.url);

/**
 * The pool alone. All of undici, with fetch, caches and WebSockets, takes twice to three times as long to
 * load, which is a good part of what a short list takes.
 */
function poolOfUndici(): typeof Pool {
  return load('undici/lib/dispatcher/pool.js') as typeof Pool;
}
