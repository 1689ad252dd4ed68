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
import { challengeOf, findDomainProblem, findParameter, isAuthorized } from './auth.ts';
import { draw, hashText, purposes } from './brand-answer.ts';
import { CallCounter, type DomainCalls, type SandboxStats } from './call-counter.ts';
import { createLimiter, type Limiter, limitHeaders } from './limiter.ts';
import {
  checkOptions,
  type PlayedApi,
  type SandboxAnswer,
  type SandboxOptions,
} from './options.ts';
import { decideReply, errorReply, send } from './replies.ts';

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

/**
 * Answers `GET …/v1/brand?domain=…`. A call passes, in this order: the credential (401), the limit
 * (429), the check of the domain (400, 422), the quota (402). The answer is decided at once; only
 * its sending waits for the latency.
 */
class BrandEndpoint {
  readonly #options: SandboxOptions;
  readonly #counter: CallCounter;
  #limiter: Limiter | undefined;

  constructor(options: SandboxOptions, counter: CallCounter) {
    this.#options = options;
    this.#counter = counter;
    this.reset();
  }

  /** Forget all counts and charges, and the state of the limit. */
  reset(): void {
    const { limit, limitKind = 'token-bucket', burst } = this.#options;
    this.#counter.clear();
    this.#limiter = limit && createLimiter(limitKind, limit, burst);
  }

  /**
   * @param query the part behind the question mark
   * @param asked the domain, where another API is played
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    query: string,
    asked: string = findParameter(query, 'domain') ?? '',
  ): void {
    const { auth, limit, quota = Infinity, limitHeaders: style = 'retry-after' } = this.#options;
    const nowMs = Date.now();
    const problem = findDomainProblem(asked);
    const domain = problem ? undefined : asked;
    this.#counter.arrive(domain, nowMs);
    let headers: Record<string, string> = {};
    const refuse = (status: number, code: string, message: string): void => {
      const inOwnWords = this.#options.api?.refusals[code as keyof PlayedApi['refusals']];
      const reply = inOwnWords ?? errorReply(status, code, message);
      this.#counter.answer(domain, reply.status ?? status, false);
      send(response, { ...reply, headers: { ...headers, ...reply.headers } });
    };
    if (auth && !isAuthorized(auth, request, query)) {
      headers = challengeOf(auth);
      return refuse(401, 'unauthorized', 'The API key is missing or wrong.');
    }
    const verdict = this.#limiter?.(nowMs);
    if (limit && verdict) headers = limitHeaders(style, limit, verdict, nowMs);
    if (verdict?.allowed === false) {
      return refuse(429, 'rate_limited', 'Too many requests, slow down.');
    }
    if (problem) return refuse(problem.status, problem.code, problem.message);
    if (this.#counter.charged >= quota) {
      return refuse(402, 'quota_exceeded', 'The quota is used up.');
    }
    this.#answer(request, response, { domain: asked, headers });
  }

  #answer(
    { headers: { host }, socket }: IncomingMessage,
    response: ServerResponse,
    { domain, headers }: { domain: string; headers: Record<string, string> },
  ): void {
    const ordinal = this.#counter.admit(domain);
    const hash = hashText(domain, this.#options.seed ?? 1);
    const reply = decideReply(this.#options, { domain, hash, ordinal, host });
    const answer = typeof reply === 'string' ? undefined : reply;
    const { status = 200, breakOff = false } = answer ?? { status: 0 };
    if (!breakOff)
      this.#counter.charge(answer?.charge ?? (status === 200 || status === 404 ? 1 : 0));
    const delayMs = answer?.delayMs ?? latencyOf(this.#options.latencyMs, hash, ordinal);
    deliver(response, reply === 'hang' ? undefined : delayMs, {
      onDue: () => {
        this.#counter.answer(domain, status, breakOff);
        if (reply === 'hang') return;
        this.#counter.leave();
        if (answer) send(response, { ...answer, headers: { ...headers, ...answer.headers } });
        else socket.resetAndDestroy();
      },
      onGone: () => {
        this.#counter.leave();
        if (reply !== 'hang') this.#counter.abandon();
      },
    });
  }
}

/**
 * Distance of the 1st and the 99th percentile of a normal distribution from its mean, in standard
 * deviations.
 */
const PERCENTILE_99 = 2.326;

/**
 * Milliseconds that a call takes: fixed, or drawn from a log-normal distribution whose 1st and 99th
 * percentile are given, and which is clamped to them.
 */
export function latencyOf(
  latencyMs: SandboxOptions['latencyMs'],
  hash: number,
  ordinal: number,
): number {
  if (typeof latencyMs !== 'object') return latencyMs ?? 0;
  const { fromMs, toMs } = latencyMs;
  const from = Math.log(Math.max(fromMs, 1));
  const to = Math.log(Math.max(toMs, 1));
  // From the standard normal distribution (Box and Muller's method).
  const radius = Math.sqrt(-2 * Math.log(1 - draw(hash, purposes.latency, ordinal)));
  const normal = radius * Math.cos(2 * Math.PI * draw(hash, purposes.latencyAngle, ordinal));
  const drawn = Math.exp((from + to) / 2 + ((to - from) / 2 / PERCENTILE_99) * normal);
  return Math.min(toMs, Math.max(fromMs, drawn));
}

interface Delivery {
  /** Called when the answer is due; at once where it never comes. */
  onDue: () => void;
  /** Called when the caller leaves before the answer. */
  onGone: () => void;
}

/** @param delayMs milliseconds until the answer; undefined for never */
function deliver(
  response: ServerResponse,
  delayMs: number | undefined,
  { onDue, onGone }: Delivery,
): void {
  if (delayMs === undefined) response.once('close', onGone);
  if (!delayMs || delayMs <= 0) return onDue();
  const cancel = (): void => {
    clearTimeout(timer);
    onGone();
  };
  const timer = setTimeout(() => {
    response.off('close', cancel);
    onDue();
  }, delayMs);
  response.once('close', cancel);
}
