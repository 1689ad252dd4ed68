import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import type { ListenAddress } from '../options/kinds.ts';

/** A running HTTP server. */
export interface Listener {
  /** Its URL, such as `http://127.0.0.1:8080`, with the port that was found for 0. */
  readonly url: string;
  /** Ends it. Answers under way get a moment to arrive; then open connections are cut. */
  close(): Promise<void>;
}

/** Adds routes to a server before it starts. */
export type Routes = (app: Hono) => void;

export interface ListenerOptions extends ListenAddress {
  /** Added in this order; the first route that fits a request answers it. */
  readonly routes: readonly Routes[];
  /** The name of the setting in messages. @default `--listen` */
  readonly label?: string;
}

/** A connection may stay idle for this long. No client that only reads needs longer. */
const KEEP_ALIVE_MS = 65_000;

/** The end of the last answer may take this long. */
const SHUTDOWN_TIMEOUT_MS = 500;
/** How often to check which connections have nothing more to send. */
const POLL_MS = 20;

/**
 * Starts an HTTP server.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address cannot be used
 */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { host, port, routes, label = '--listen' } = options;
  const app = new Hono();
  for (const add of routes) add(app);
  app.notFound((context) => context.text('There is nothing here.\n', 404));
  app.onError((_, context) => context.text('Something went wrong here.\n', 500));
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, { host, port, label });
  const address = server.address();
  const found = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${formatHost(host)}:${found}`,
    close: async () => {
      const closed = once(server, 'close').then(() => true);
      server.close();
      const until = performance.now() + SHUTDOWN_TIMEOUT_MS;
      while (performance.now() < until) {
        server.closeIdleConnections();
        if (await Promise.race([closed, delay(POLL_MS)])) return;
      }
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(
  server: Server,
  { host, port, label }: ListenAddress & { readonly label: string },
): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const reason = REASONS[systemErrorCode(error) ?? ''] ?? describeSystemError(error);
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot listen on ${formatHost(host)}:${port}: ${reason}; give ${label} another, or port 0 for any that is free.`,
      { cause: error },
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has that port',
  EACCES: 'ports below 1024 are not for everybody',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'there is no host of that name',
};

/** Puts an IPv6 address in brackets, as it must be before a port. */
function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
