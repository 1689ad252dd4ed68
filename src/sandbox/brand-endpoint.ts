import type { IncomingMessage, ServerResponse } from 'node:http';
import { challengeOf, findDomainProblem, findParameter, isAuthorized } from './auth.ts';
import { draw, hashText, purposes } from './brand-answer.ts';
import type { CallCounter } from './call-counter.ts';
import { createLimiter, type Limiter, limitHeaders } from './limiter.ts';
import type { PlayedApi, SandboxOptions } from './options.ts';
import { decideReply, errorReply, send } from './replies.ts';

/**
 * Answers `GET …/v1/brand?domain=…`. A call passes, in this order: the credential (401), the limit
 * (429), the check of the domain (400, 422), the quota (402). The answer is decided at once; only
 * its sending waits for the latency.
 */
export class BrandEndpoint {
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
