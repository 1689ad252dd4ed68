import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AuthCheck,
  createAuthCheck,
  createChallenge,
  findDomainProblem,
  findParameter,
} from './auth.ts';
import { draw, hashText, purposes } from './brand-answer.ts';
import type { CallCounter } from './call-counter.ts';
import { createLimiter, createLimitHeaders } from './limiter.ts';
import type { SandboxOptions, SandboxReply } from './options.ts';
import { createReplies, type Replies, send, sendError } from './replies.ts';

/** One call on its way through the endpoint. */
interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  /** The domain it asks for, if it is a valid one. */
  domain: string | undefined;
  /** The limit in which it holds a place; the place is given back when the call ends. */
  gate?: LimitGate | undefined;
  headers?: Record<string, string> | undefined;
}

/**
 * Answers `GET …/v1/brand?domain=…`. A call passes, in this order: the credential (401), the limit
 * (429 or 503), the check of the domain (400, 422), the quota (402). The answer is decided at once;
 * only its sending waits for the latency.
 */
export class BrandEndpoint {
  readonly #options: SandboxOptions;
  readonly #counter: CallCounter;
  readonly #isAuthorized: AuthCheck | undefined;
  readonly #replies: Replies;
  readonly #latency: Latency | undefined;
  #gate: LimitGate | undefined;

  constructor(options: SandboxOptions, counter: CallCounter) {
    this.#options = options;
    this.#counter = counter;
    this.#isAuthorized = createAuthCheck(options.auth);
    this.#replies = createReplies(options);
    this.#latency = createLatency(options.latencyMs);
    this.#gate = createLimitGate(options);
  }

  /** Forget all counts and charges, and the state of the limit. */
  reset(): void {
    this.#counter.clear();
    this.#gate = createLimitGate(this.#options);
  }

  /** The domain of a request for another API that is played, if it is one. */
  domainOf(target: string): string | undefined {
    return this.#options.api?.domainOf(target);
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
    const problem = findDomainProblem(asked);
    const domain = problem === undefined ? asked : undefined;
    const call: Call = { request, response, domain };
    if (this.#mayPass(call, query, problem)) this.#answer(call, asked);
  }

  /** Checks a call in the order above; one that does not pass is answered here. */
  #mayPass(
    call: Call,
    query: string,
    problem: { status: number; code: string; message: string } | undefined,
  ): boolean {
    const { auth, limitStatus = 429, quota = Infinity } = this.#options;
    const nowMs = Date.now();
    this.#counter.arrive(call.domain, nowMs);
    const refuse = (status: number, code: string, message: string): false => {
      this.#refuse(call, status, code, message);
      return false;
    };
    if (this.#isAuthorized?.(call.request, query) === false) {
      call.headers = createChallenge(auth);
      return refuse(401, 'unauthorized', 'The API key is missing or wrong.');
    }
    const pass = this.#gate?.enter(nowMs);
    call.headers = pass?.headers;
    if (pass?.allowed === false) {
      return refuse(limitStatus, 'rate_limited', 'Too many requests, slow down.');
    }
    call.gate = this.#gate;
    if (problem !== undefined) return refuse(problem.status, problem.code, problem.message);
    if (this.#counter.charged < quota) return true;
    return refuse(402, 'quota_exceeded', 'The quota is used up.');
  }

  #refuse(call: Call, status: number, code: string, message: string): void {
    call.gate?.leave();
    const own = this.#options.api?.refusals;
    const inOwnWords = own && Object.hasOwn(own, code) ? own[code as keyof typeof own] : undefined;
    this.#counter.answer(call.domain, inOwnWords?.status ?? status, false);
    if (inOwnWords) return transmit(call, inOwnWords, false);
    sendError(call.request, call.response, { status, code, message, headers: call.headers });
  }

  #answer(call: Call, domain: string): void {
    const ordinal = this.#counter.admit(domain);
    const hash = hashText(domain, this.#options.seed ?? 1);
    const { host } = call.request.headers;
    const reply = this.#replies({ domain, hash, ordinal, host });
    const { status, broken } = judge(reply);
    const { charge = status === 200 || status === 404 ? 1 : 0 } =
      typeof reply === 'string' ? {} : reply;
    if (!broken) this.#counter.charge(charge);
    const leave = () => {
      this.#counter.leave();
      call.gate?.leave();
    };
    deliver(call, reply, {
      delayMs:
        (typeof reply === 'string' ? undefined : reply.delayMs) ??
        this.#latency?.(hash, ordinal) ??
        0,
      gzip: this.#options.gzip ?? false,
      onDue: () => {
        if (reply !== 'hang') leave();
        this.#counter.answer(domain, status, broken);
      },
      onGone: () => {
        leave();
        if (reply !== 'hang') this.#counter.abandon();
      },
    });
  }
}

/** The status of a reply (0 for no answer at all), and whether the answer is unusable. */
function judge(reply: SandboxReply): { status: number; broken: boolean } {
  if (typeof reply === 'string') return { status: 0, broken: true };
  const { status = 200, breakOff = false, broken = breakOff } = reply;
  return { status, broken };
}

/** Milliseconds that a call takes, from the hash of its domain and the ordinal of the call. */
type Latency = (hash: number, ordinal: number) => number;

/**
 * Distance of the 1st and the 99th percentile of a normal distribution from its mean, in standard
 * deviations.
 */
const PERCENTILE_99 = 2.326;

/**
 * Create the latency of the sandbox, or `undefined` for none.
 *
 * @param latencyMs fixed, or the 1st and 99th percentile of a log-normal distribution that is clamped to them
 */
export function createLatency(
  latencyMs: number | { fromMs: number; toMs: number } | undefined,
): Latency | undefined {
  if (latencyMs === undefined || latencyMs === 0) return undefined;
  if (typeof latencyMs === 'number') return () => latencyMs;
  const { fromMs, toMs } = latencyMs;
  const from = Math.log(Math.max(fromMs, 1));
  const to = Math.log(Math.max(toMs, 1));
  const mean = (from + to) / 2;
  const deviation = (to - from) / 2 / PERCENTILE_99;
  return (hash, ordinal) => {
    const drawn = Math.exp(mean + deviation * drawNormal(hash, ordinal));
    return Math.min(toMs, Math.max(fromMs, drawn));
  };
}

/** Draw from the standard normal distribution (Box and Muller's method). */
function drawNormal(hash: number, ordinal: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - draw(hash, purposes.latency, ordinal)));
  return radius * Math.cos(2 * Math.PI * draw(hash, purposes.latencyAngle, ordinal));
}

/** A limit together with the headers that describe it. */
interface LimitGate {
  enter(nowMs: number): { allowed: boolean; headers: Record<string, string> };
  /** Must be called once for each call that was allowed, when it ends. */
  leave(): void;
}

/** Create the limit of the sandbox, or `undefined` for none. */
function createLimitGate(
  options: Pick<SandboxOptions, 'limit' | 'limitKind' | 'burst' | 'limitHeaders'>,
): LimitGate | undefined {
  const { limit, limitKind = 'token-bucket', limitHeaders = 'retry-after', burst } = options;
  if (limit === undefined) return undefined;
  const limiter = createLimiter(limitKind, limit, burst);
  const writeHeaders = createLimitHeaders(limitHeaders, limitKind, limit);
  return {
    enter(nowMs) {
      const verdict = limiter.take(nowMs);
      return { allowed: verdict.allowed, headers: writeHeaders(verdict, nowMs) };
    },
    leave: () => limiter.release(),
  };
}

/** How a reply is delivered. */
interface Delivery {
  /** Milliseconds to wait; 0 sends at once. */
  delayMs: number;
  gzip: boolean;
  /** Called when the reply is due, just before it is sent. For `hang`, at once. */
  onDue: () => void;
  /** Called instead when the caller leaves before that, and for `hang` when the caller leaves. */
  onGone: () => void;
}

/** The response that a reply goes to, and headers that go with any answer. */
interface Recipient {
  request: IncomingMessage;
  response: ServerResponse;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Send a reply when it is due, unless the caller has gone by then. */
function deliver(recipient: Recipient, reply: SandboxReply, delivery: Delivery): void {
  const { delayMs, onDue, onGone } = delivery;
  const { response } = recipient;
  if (reply === 'hang') {
    onDue();
    response.once('close', onGone);
    return;
  }
  if (delayMs <= 0) {
    onDue();
    transmit(recipient, reply, delivery.gzip);
    return;
  }
  const cancel = () => {
    clearTimeout(timer);
    onGone();
  };
  const timer = setTimeout(() => {
    response.off('close', cancel);
    onDue();
    transmit(recipient, reply, delivery.gzip);
  }, delayMs);
  response.once('close', cancel);
}

function transmit(
  { request, response, headers }: Recipient,
  reply: Exclude<SandboxReply, 'hang'>,
  gzip: boolean,
): void {
  if (reply === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  const { status = 200, body = '', breakOff = false, raw } = reply;
  if (raw !== undefined) {
    request.socket.end(raw);
    return;
  }
  const message = {
    status,
    headers: headers === undefined ? reply.headers : { ...headers, ...reply.headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    breakOff,
  };
  send(request, response, message, gzip);
}
