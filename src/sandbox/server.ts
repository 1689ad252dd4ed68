import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { draw, hashText, purposes } from './brand-answer.ts';
import { BrandEndpoint } from './brand-endpoint.ts';
import { CallCounter, type DomainCalls, type SandboxStats } from './call-counter.ts';
import { checkOptions, SandboxError, type SandboxOptions } from './options.ts';
import { type Message, send, sendError } from './replies.ts';

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
 * `GET /stats`, `POST /reset`, `GET /healthz` and, if told to, pictures at `GET /logos/…`.
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
  const counter = new CallCounter();
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

/**
 * Listen on an address and return the port.
 *
 * @throws SandboxError when the port is in use or may not be opened
 */
async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error) => reject(describeListenError(cause, host, port));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function describeListenError(cause: Error, host: string, port: number): SandboxError {
  const code = 'code' in cause ? cause.code : undefined;
  const start = `Cannot listen on ${formatHost(host)}:${port}`;
  if (code === 'EADDRINUSE') {
    const message = `${start}: the port is in use; choose another with --port, or 0 for any free one`;
    return new SandboxError('sandbox_port_in_use', message, { cause });
  }
  if (code === 'EACCES') {
    const message = `${start}: not permitted; choose a port above 1023 with --port, or 0 for any free one`;
    return new SandboxError('sandbox_cannot_listen', message, { cause });
  }
  return new SandboxError('sandbox_cannot_listen', `${start}: ${cause.message}`, { cause });
}

/** Puts an IPv6 address in brackets, as it must be before a port. */
function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Create the function that hands each request to its endpoint. It checks for the brand endpoint
 * first, because that is the busy one.
 */
function createRouter(
  endpoint: BrandEndpoint,
  counter: CallCounter,
  logos?: LogoPages,
): RequestListener {
  const pages: Record<string, Page> = {
    '/healthz': {
      method: 'GET',
      serve: (request, response) => sendJson(request, response, { status: 'ok' }),
    },
    '/stats': {
      method: 'GET',
      serve: (request, response) => sendJson(request, response, counter.snapshot()),
    },
    '/reset': {
      method: 'POST',
      serve(request, response) {
        endpoint.reset();
        sendJson(request, response, { status: 'ok' });
      },
    },
  };
  const brand: Page = {
    method: 'GET',
    serve: (request, response, query) => endpoint.handle(request, response, query),
  };
  const playedPage = (asked: string): Page => ({
    method: 'GET',
    serve: (request, response, query) => endpoint.handle(request, response, query, asked),
  });
  const findLogo = (path: string): Page | undefined => {
    const logo = logos?.(path);
    return logo && { method: 'GET', serve: (request, response) => send(request, response, logo) };
  };
  return (request, response) => {
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    const path = mark === -1 ? target : target.slice(0, mark);
    const asked = endpoint.domainOf(target);
    const page =
      asked !== undefined
        ? playedPage(asked)
        : path.endsWith('/v1/brand')
          ? brand
          : (pages[path] ?? findLogo(path));
    if (page === undefined) {
      sendError(request, response, {
        status: 404,
        code: 'no_such_path',
        message: `There is nothing at ${path}.`,
      });
    } else if (page.method !== request.method) {
      const headers = { Allow: page.method };
      const message = `This path takes ${page.method} only.`;
      sendError(request, response, { status: 405, code: 'method_not_allowed', message, headers });
    } else {
      page.serve(request, response, mark === -1 ? '' : target.slice(mark + 1));
    }
  };
}

interface Page {
  method: 'GET' | 'POST';
  serve(request: IncomingMessage, response: ServerResponse, query: string): void;
}

function sendJson(request: IncomingMessage, response: ServerResponse, value: unknown): void {
  send(request, response, { status: 200, body: `${JSON.stringify(value)}\n` });
}

/** The picture at a path, or `undefined` when there is none. */
type LogoPages = (path: string) => Picture | undefined;

type Picture = Pick<Message, 'status' | 'headers' | 'body'>;

/** The logos of all domains: pictures of one pixel. One in twenty is missing, one in SVG. */
export function createLogoPages(seed: number): LogoPages {
  return (path) => {
    const [, domain] = /^\/logos\/([a-z0-9.-]+)\/(?:light|dark)\.png$/.exec(path) ?? [];
    if (domain === undefined) return undefined;
    const hash = hashText(domain, seed);
    const share = draw(hash, purposes.logo);
    if (share < 0.05) return MISSING;
    if (share >= 0.1) return { status: 200, headers: { 'Content-Type': 'image/png' }, body: PIXEL };
    const body = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"><rect width="4" height="1" fill="teal"/></svg>\n`;
    return { status: 200, headers: { 'Content-Type': 'image/svg+xml' }, body };
  };
}

const MISSING: Picture = {
  status: 404,
  headers: { 'Content-Type': 'text/html' },
  body: '<!doctype html><title>Not found</title><p>There is no such picture.</p>',
};

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
