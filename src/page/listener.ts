import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createAdaptorServer } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { type AllowedHost, formatHost } from '../common/addresses.ts';
import { describeSystemError, refusal, systemErrorCode } from '../common/errors.ts';
import { inTime, NoAnswerError } from '../common/lifetime.ts';
import type { ListenAddress } from '../options/kinds.ts';

/** Adds routes to a server before it starts. */
export type Routes = (app: Hono) => void;

export interface ListenerOptions extends ListenAddress {
  /** Added in this order; the first route that fits a request answers it. */
  readonly routes: readonly Routes[];
}

/** A connection may stay idle for this long. No client that only reads needs longer. */
const KEEP_ALIVE_MS = 65_000;

/** The end of the last answer may take this long. */
const LAST_ANSWERS_MS = 500;
/** How often to check which connections have nothing more to send. */
const POLL_MS = 20;

/**
 * Starts an HTTP server.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address cannot be used
 */
export async function openListener(options: ListenerOptions) {
  const { host, port, routes } = options;
  const app = new Hono();
  for (const add of routes) add(app);
  app.notFound((context) => context.text('There is nothing here.\n', 404));
  // A refusal is a sentence for people.
  app.onError((error, context) =>
    error instanceof HTTPException
      ? context.text(`${error.message}\n`, error.status)
      : context.text('Something went wrong here.\n', 500),
  );
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  server.prependListener('request', (_, response) => addSecureHeaders(response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, { host, port });
  const address = server.address();
  const found = typeof address === 'object' && address !== null ? address.port : port;
  return {
    /** Its URL, such as `http://127.0.0.1:8080`, with the port that was found for 0. */
    url: `http://${formatHost(host)}:${found}`,
    /** Ends it. Answers under way get a moment to arrive; then open connections are cut. */
    close: async (): Promise<void> => {
      const closed = once(server, 'close').then(() => true);
      server.close();
      const until = performance.now() + LAST_ANSWERS_MS;
      while (performance.now() < until) {
        server.closeIdleConnections();
        if (await Promise.race([closed, delay(POLL_MS)])) return;
      }
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Everything comes from us, no script or style from injected markup runs, and nobody frames the
 * page.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With `no-referrer`, browsers would not send an origin along with a form either.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * Keeps others out, whatever answers: a request that is refused before our routes see it has them
 * too.
 */
function addSecureHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

async function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const reason = REASONS[systemErrorCode(error) ?? ''] ?? describeSystemError(error);
    throw refusal(
      `Cannot listen on ${formatHost(host)}:${port}: ${reason}; give option 'listen' another, or port 0 for any that is free.`,
      error,
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

/**
 * Whether a `Host` header is none that a page elsewhere could use. Such a page can make its own
 * name resolve to an address of ours and then read everything that is served there (DNS rebinding),
 * but its name gives it away. An address is no such name.
 *
 * @param allowed names that are known to be ours
 */
export function isKnownHost(host: string, allowed: readonly AllowedHost[] = []): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const url = new URL(`http://${host}`);
  if (url.host !== host.toLowerCase().replace(/:80$/, '')) return false; // a path, a user, 127.1
  const { hostname } = url;
  if (hostname === 'localhost' || isIP(hostname.replaceAll(/^\[|\]$/g, '')) > 0) return true;
  const port = Number(url.port || 80);
  return allowed.some((one) => one.hostname === hostname && (one.port ?? port) === port);
}

/** Refuses requests under a name that is not known. */
export function createHostCheck(allowed: readonly AllowedHost[], label: string): MiddlewareHandler {
  return async (context, next) => {
    if (isKnownHost(context.req.header('host') ?? '', allowed)) return await next();
    const advice = `Ask for localhost or an address; ${label} allows another name.`;
    return context.text(`There is nothing here under that name. ${advice}\n`, 421);
  };
}

/**
 * Whether a request that changes something comes from our own page. Browsers say so by themselves
 * if the page has TLS or is on their machine. Otherwise the origin of the page has to be the host
 * that is asked, so a proxy has to pass the host on. A request that says nothing is refused.
 */
export function isFromOurPage(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site'); // pages cannot set it themselves
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === headers.get('host')?.toLowerCase();
}

/** Checks a condition. Returns a sentence that says why it fails, or nothing when all is well. */
export type HealthCheck = () => string | undefined | Promise<string | undefined>;

/** Whether a process can do its work. */
export type Health = ReturnType<typeof createHealth>;

/** A check that takes longer has failed, because the caller waits for an answer. */
const LONGEST_CHECK_MS = 2_000;

export function createHealth() {
  let isStarted = false;
  const checks: HealthCheck[] = [() => (isStarted ? undefined : 'it is starting')];
  return {
    /** Adds a condition that must hold. */
    check: (look: HealthCheck) => void checks.push(look),
    /** Must be called when the process begins its work; until then it is not ready. */
    started: (): void => {
      isStarted = true;
    },
    /** The reasons why it is not ready; empty when it is. */
    reasons: async (): Promise<readonly string[]> => {
      const found = await Promise.all(checks.map(findFault));
      return found.filter((reason) => reason !== undefined);
    },
  };
}

async function findFault(look: HealthCheck): Promise<string | undefined> {
  try {
    return await inTime(LONGEST_CHECK_MS, Promise.resolve(look()));
  } catch (error) {
    if (error instanceof NoAnswerError) return 'a check had no answer in time';
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * `/livez` answers as long as the process does. `/readyz` answers 200 when the process can do its
 * work, else 503 with the reasons.
 */
export function healthRoutes(health: Health): Routes {
  return (app) => {
    app.get('/livez', (context) => context.json({ live: true }));
    app.get('/readyz', async (context) => {
      const reasons = await health.reasons();
      const ready = reasons.length === 0;
      return context.json({ ready, reasons }, ready ? 200 : 503);
    });
  };
}
