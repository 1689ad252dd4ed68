import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { formatHost } from '../common/addresses.ts';
import { BrandfillError, endSentence } from '../common/errors.ts';
import { draw, hashText, purposes } from './brand-answer.ts';
import { BrandEndpoint } from './brand-endpoint.ts';
import { CallCounter, type DomainCalls, type SandboxStats } from './call-counter.ts';
import { checkOptions, type SandboxAnswer, type SandboxOptions } from './options.ts';
import { errorReply, send } from './replies.ts';

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
 * Start a stand-in for the brand API on this machine. It serves `GET <any
 * prefix>/v1/brand?domain=…`,
 * `GET /stats`, `POST /reset`, `GET /healthz` and, if told to, pictures at `GET /logos/…`.
 *
 * @throws BrandfillError `INVALID_SETTING` when an option is wrong or the port cannot be opened
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
  // A minute, so that a client that pauses between calls does not meet a connection that is just
  // closing.
  const server = createServer(
    { keepAliveTimeout: 60_000 },
    createRouter(endpoint, counter, options),
  );
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
 * @throws BrandfillError `INVALID_SETTING` when the port is in use or may not be opened
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

function describeListenError(cause: Error, host: string, port: number): BrandfillError {
  const code = 'code' in cause ? cause.code : undefined;
  const why =
    code === 'EADDRINUSE'
      ? "the port is in use; choose another with option 'port', or 0 for any free one"
      : code === 'EACCES'
        ? "not permitted; choose a port above 1023 with option 'port', or 0 for any free one"
        : cause.message;
  const message = endSentence(`Cannot listen on ${formatHost(host)}:${port}: ${why}`);
  return new BrandfillError('INVALID_SETTING', message, { cause });
}

/** Create the function that hands each request to its endpoint. */
function createRouter(
  endpoint: BrandEndpoint,
  counter: CallCounter,
  { api, logos, seed = 1 }: SandboxOptions,
): RequestListener {
  const pages: Readonly<Record<string, () => object>> = {
    'GET /healthz': () => ({ status: 'ok' }),
    'GET /stats': () => counter.snapshot(),
    'POST /reset': () => {
      endpoint.reset();
      return { status: 'ok' };
    },
  };
  const route = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const { url = '/', method = '' } = request;
    const [path = '', query = ''] = url.split(/\?(.*)/s);
    const asked = api?.domainOf(url, body);
    const logo = logos ? findLogo(path, seed) : undefined;
    const isBrand = asked !== undefined || path.endsWith('/v1/brand');
    const page = pages[`${method} ${path}`];
    const allowed =
      isBrand || logo
        ? (isBrand && api?.method) || 'GET'
        : METHODS.find((one) => Object.hasOwn(pages, `${one} ${path}`));
    if (allowed === undefined) {
      send(response, errorReply(404, 'no_such_path', `There is nothing at ${path}.`));
    } else if (allowed !== method) {
      const refusal = errorReply(405, 'method_not_allowed', `This path takes ${allowed} only.`);
      send(response, { ...refusal, headers: { Allow: allowed } });
    } else if (isBrand) endpoint.handle(request, response, query, asked);
    else send(response, logo ?? { body: `${JSON.stringify(page?.())}\n` });
  };
  return (request, response) => {
    if (request.method !== 'POST') return route(request, response, '');
    // A caller that breaks off is gone.
    text(request).then(
      (body) => route(request, response, body),
      () => {},
    );
  };
}

const METHODS = ['GET', 'POST'];

/** The picture at a path: one pixel. One in twenty is missing, one in SVG. */
export function findLogo(path: string, seed: number): SandboxAnswer | undefined {
  const [, domain] = /^\/logos\/([a-z0-9.-]+)\/(?:light|dark)\.png$/.exec(path) ?? [];
  if (domain === undefined) return undefined;
  const share = draw(hashText(domain, seed), purposes.logo);
  if (share < 0.05) return errorReply(404, 'not_found', 'There is no such picture.');
  if (share >= 0.1) return { headers: { 'Content-Type': 'image/png' }, body: PIXEL };
  const body = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"><rect width="4" height="1" fill="teal"/></svg>\n`;
  return { headers: { 'Content-Type': 'image/svg+xml' }, body };
}

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
