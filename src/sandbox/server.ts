import { createServer } from 'node:http';
import { BrandEndpoint } from './brand-endpoint.ts';
import { CallCounter } from './call-counter.ts';
import { checkOptions } from './check-options.ts';
import type { DomainCalls } from './domain-counts.ts';
import { formatHost, listen } from './listen.ts';
import { createLogoPages } from './logo-pages.ts';
import type { SandboxOptions } from './options.ts';
import { createRouter } from './router.ts';
import type { SandboxStats } from './stats.ts';

/** A running sandbox. The caller that started it must close it. */
export interface Sandbox {
  /** Base URL for the client, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** The counts so far, as `GET /stats` reports them. */
  stats(): SandboxStats;
  /** The counts of one domain. */
  callsOf(domain: string): DomainCalls;
  /** Forget all counts and charges, and the state of the limit, as `POST /reset` does. */
  reset(): void;
  /** Stop listening and close every connection, including those with a call open. */
  close(): Promise<void>;
}

/**
 * Start a stand-in for the brand API on this machine. It serves `GET <any prefix>/v1/brand?domain=…`,
 * `GET /stats`, `GET /stats/domains`, `POST /reset`, `GET /healthz` and, if told to, pictures at `GET /logos/…`.
 *
 * @throws SandboxError when an option is wrong or the port cannot be opened
 * @example
 * ```ts
 * const sandbox = await startSandbox({ latencyMs: 80, limit: { count: 50, perMs: 1000 } });
 * await fetch(`${sandbox.url}/v1/brand?domain=example.com`);
 * await sandbox.close();
 * ```
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  checkOptions(options);
  const counter = new CallCounter(options.countPerDomain ?? true);
  const endpoint = new BrandEndpoint(options, counter);
  const logos = options.logos ? createLogoPages(options.seed ?? 1) : undefined;
  // A minute, so that a client that pauses between calls does not meet a connection that is just
  // closing.
  const server = createServer({ keepAliveTimeout: 60_000 }, createRouter(endpoint, counter, logos));
  const host = options.host ?? '127.0.0.1';
  const port = await listen(server, host, options.port ?? 0);
  return {
    url: `http://${formatHost(host)}:${port}`,
    port,
    stats: () => counter.snapshot(),
    callsOf: (domain) => counter.of(domain),
    reset: () => endpoint.reset(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
