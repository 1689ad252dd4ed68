import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type AuthCheck, createAuthCheck, createChallenge } from './auth.ts';
import type { CallCounter } from './call-counter.ts';
import { deliver } from './deliver.ts';
import { findDomainProblem, findParameter } from './domain-parameter.ts';
import { createLatency, type Latency } from './latency.ts';
import { createLimitGate, type LimitGate } from './limits/limit-gate.ts';
import type { SandboxOptions, SandboxReply } from './options.ts';
import { hashText } from './random.ts';
import { createReplies, type Replies } from './replies.ts';
import { createScript, type Script } from './script.ts';
import { sendError } from './send.ts';

/** One call on its way through the endpoint. */
interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  /** The domain it asks for, if it is a valid one. */
  domain: string | undefined;
  /** Whether its connection has had a call before. */
  isReused: boolean;
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
  readonly #script: Script | undefined;
  /** Connections that have had a call. */
  readonly #used = new WeakSet<Socket>();
  readonly #latency: Latency | undefined;
  #gate: LimitGate | undefined;

  constructor(options: SandboxOptions, counter: CallCounter) {
    this.#options = options;
    this.#counter = counter;
    this.#isAuthorized = createAuthCheck(options.auth);
    this.#script = options.script && createScript(options.script, { seed: options.seed });
    this.#replies = createReplies(options, this.#script);
    this.#latency = createLatency(options.latencyMs);
    this.#gate = createLimitGate(options);
  }

  /** Forget all counts and charges, and the state of the limit. */
  reset(): void {
    this.#counter.clear();
    this.#script?.reset();
    this.#gate = createLimitGate(this.#options);
  }

  /** @param query the part behind the question mark */
  handle(request: IncomingMessage, response: ServerResponse, query: string): void {
    const nowMs = Date.now();
    const asked = findParameter(query, 'domain') ?? '';
    const problem = findDomainProblem(asked);
    const domain = problem === undefined ? asked : undefined;
    const isReused = this.#used.has(request.socket);
    this.#used.add(request.socket);
    const call: Call = { request, response, domain, isReused };
    this.#counter.arrive(domain, nowMs);

    if (this.#isAuthorized?.(request, query) === false) {
      call.headers = createChallenge(this.#options.auth);
      return this.#refuse(call, 401, 'unauthorized', 'The API key is missing or wrong.');
    }
    const pass = this.#gate?.enter(nowMs);
    call.headers = pass?.headers;
    if (pass?.allowed === false) {
      const { limitStatus = 429 } = this.#options;
      return this.#refuse(call, limitStatus, 'rate_limited', 'Too many requests, slow down.');
    }
    call.gate = this.#gate;
    if (problem !== undefined) {
      return this.#refuse(call, problem.status, problem.code, problem.message);
    }
    if (this.#counter.charged >= (this.#options.quota ?? Infinity)) {
      return this.#refuse(call, 402, 'quota_exceeded', 'The quota is used up.');
    }
    this.#answer(call, asked);
  }

  /** The page that the script has at a path that is not the API's; no call is counted for it. */
  pageAt(path: string): ((...of: Parameters<BrandEndpoint['handle']>) => void) | undefined {
    const script = this.#script;
    if (!script?.has(path)) return undefined;
    return (request, response, query) => {
      const reply = script.replyAt(path, findParameter(query, 'domain') ?? '') ?? NO_PAGE;
      const delayMs = (typeof reply === 'string' ? undefined : reply.delayMs) ?? 0;
      const nothing = () => {};
      const delivery = { delayMs, gzip: false, onDue: nothing, onGone: nothing };
      deliver({ request, response }, reply, delivery);
    };
  }

  #refuse(call: Call, status: number, code: string, message: string): void {
    call.gate?.leave();
    this.#counter.answer(call.domain, status, false);
    sendError(call.request, call.response, { status, code, message, headers: call.headers });
  }

  #answer(call: Call, domain: string): void {
    const ordinal = this.#counter.admit(domain);
    const hash = hashText(domain, this.#options.seed ?? 1);
    const { host } = call.request.headers;
    const reply = this.#replies({ domain, hash, ordinal, host, isReused: call.isReused });
    const { status, broken } = judge(reply);
    if (!broken && (status === 200 || status === 404)) this.#counter.charge();
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

const NO_PAGE: SandboxReply = { status: 404, body: { error: { code: 'no_such_path' } } };

/** The status of a reply (0 for no answer at all), and whether the answer is unusable. */
function judge(reply: SandboxReply): { status: number; broken: boolean } {
  if (typeof reply === 'string') return { status: 0, broken: true };
  const { status = 200, breakOff = false, broken = breakOff } = reply;
  return { status, broken };
}
