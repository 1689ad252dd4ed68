import pRetry from 'p-retry';
import type { BrandClient } from '../brand/client.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import { MAX_REDIRECTS, type Meaning } from '../brand/meaning.ts';
import { ClosedConnectionError } from '../brand/transport.ts';
import type { Outcome } from '../calls/outcome.ts';
import type { Batches } from './batches.ts';
import type { Clock } from './clock.ts';
import type { Gate, Question } from './gate.ts';
import { NotAskedError, type StopSwitch } from './stop-switch.ts';
import type { Subject, Verdict } from './withheld.ts';

/**
 * One lookup: asks about a domain until there is an outcome.
 *
 * ```text
 *   gate.ask ──▶ call ──▶ ended(meaning) ──believe──▶ outcome
 *      ▲  ▲                    │   │ withheld until others tell more
 *      │  └───────again────────┘   │
 *      └──backoff── retry ─────────┘ at most `retries` times
 * ```
 *
 * Its calls and its time are bounded, whatever the answers.
 */
export interface LookupContext {
  readonly client: BrandClient;
  readonly endpoint: Endpoint;
  readonly gate: Gate;
  /** Asks about several domains in one call. @default each call asks about one */
  readonly batches?: Batches | undefined;
  /** How often a lookup is retried. */
  readonly retries: number;
  /** The longest wait that the API may ask for. */
  readonly maxWaitMs: number;
  readonly stopSwitch: StopSwitch;
  readonly onRetry: () => void;
  /** Called for every call that was not given up. @default no callback */
  readonly onCall?: ((call: AnsweredCall) => void) | undefined;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
}

/** A call and its answer. */
export interface AnsweredCall {
  readonly domain: string;
  readonly meaning: Meaning;
  /** From its start to the last byte of the answer, in milliseconds. */
  readonly latencyMs: number;
  /** Whether it asked again about a domain that was found, to see how all is. @default false */
  readonly isProbe?: boolean;
}

/** The bounds that all lookups of a chunk share, and what a lookup tells while it waits. */
export interface LookupBounds extends Pick<Question, 'budget' | 'list'> {
  /** Asked before each call, which may come late. False spares the lookup. @default always true */
  readonly isWanted?: ((domain: string) => boolean) | undefined;
  /**
   * Its answer is withheld until others tell more, or no longer: its caller may do something else.
   */
  readonly onWithheld?: (isWithheld: boolean) => void;
}

/**
 * A lookup is asked again without an attempt this often: with 429 at a limit hardly more than
 * twice.
 */
const MOST_AGAIN = 30;
const USUALLY_THROTTLED = 3;

/**
 * Looks a domain up. Never throws for anything that an API does.
 *
 * @returns undefined when the run stopped before there was an answer
 */
export function lookUp(
  domain: string,
  context: LookupContext,
  bounds: LookupBounds = {},
): Promise<Outcome | undefined> {
  return new Lookup(domain, context, bounds).run();
}

/** One lookup under way. An object rather than closures, because it costs less to create. */
class Lookup implements Question, Subject {
  readonly domain: string;
  readonly budget: Question['budget'];
  isRedirected = false;
  readonly list: unknown;
  readonly subject: Subject = this;
  readonly #context: LookupContext;
  readonly #bounds: LookupBounds;
  /** What of the last call was for this domain. */
  #share = 1;
  #attempts = 0;
  #calls = 0;
  #throttled = 0;
  #again = 0;
  #billedMicros = 0;
  #last: Meaning | undefined;
  #jitter: number | undefined;

  constructor(domain: string, context: LookupContext, bounds: LookupBounds) {
    this.domain = domain;
    this.#context = context;
    this.#bounds = bounds;
    this.budget = bounds.budget;
    this.list = bounds.list;
  }

  isWanted(): boolean {
    return this.#bounds.isWanted?.(this.domain) !== false;
  }

  async run(): Promise<Outcome | undefined> {
    try {
      const verdict = await this.#attempt();
      return this.#conclude(isRetry(verdict) ? await this.#tryAgain(verdict) : verdict);
    } catch (error) {
      if (error instanceof FailedError) return this.#conclude('fail');
      if (error instanceof NotAskedError || this.#context.stopSwitch.stopped) return undefined;
      throw error;
    }
  }

  /** Calls until there is an answer that is worth something. Follows redirects. */
  async #attempt(): Promise<Exclude<Verdict, 'again'>> {
    const own = this.#context.endpoint.path(this.domain);
    let path = own;
    for (let redirects = 0; ; ) {
      this.isRedirected = redirects > 0;
      const verdict = await this.#call(path);
      const meaning = this.#last;
      if (verdict === 'again' && this.#mayAskAgain()) {
        // It may have been sent elsewhere for a while.
        path = own;
        redirects = 0;
        // Those of a batch would wait for different times, and go one by one.
        const isSingle = this.#context.batches === undefined;
        if (isSingle && this.#throttled > USUALLY_THROTTLED) await this.#waitForOthers();
        continue;
      }
      this.#attempts += 1;
      if (verdict === 'again') return 'fail';
      if (verdict !== 'believe' || meaning?.kind !== 'redirect') return verdict;
      redirects += 1;
      if (redirects > MAX_REDIRECTS) {
        this.#last = { ...meaning, kind: 'failed', reason: 'too_many_redirects' };
        return 'believe';
      }
      path = meaning.path;
    }
  }

  #mayAskAgain(): boolean {
    const kind = this.#last?.kind;
    if (kind === 'throttled') this.#throttled += this.#share;
    else if (kind === 'refused' || kind === 'rejected') this.#attempts += 1;
    this.#again += 1;
    return this.#again <= MOST_AGAIN;
  }

  /** Refused for the rate again and again: it makes way, since the pace does not. */
  async #waitForOthers(): Promise<void> {
    const { clock, random, stopSwitch } = this.#context;
    const times = this.#throttled - USUALLY_THROTTLED;
    await clock.sleep(backoffMs(times, this.#jitter ?? random(), true), stopSwitch.noNewCall);
  }

  /** Hardly any function more awaits it: each takes a hundredth of the time of a lookup. */
  async #call(path: string): Promise<Verdict> {
    const { batches, client, clock, gate, stopSwitch } = this.#context;
    if (batches && !this.isRedirected) return await this.#callTogether(batches);
    const permit = await gate.ask(this);
    this.#share = 1;
    const sentAtMs = clock.nowMs();
    let meaning: Meaning;
    try {
      meaning = await client.call(path, stopSwitch.noCall, this.domain);
    } catch (error) {
      permit.abandoned(error);
      this.#throwUnlessClosed(error);
      return await this.#call(path);
    }
    this.#note(meaning, clock.nowMs() - sentAtMs);
    const verdict = permit.ended(meaning);
    return typeof verdict === 'string' ? verdict : await this.#settle(verdict);
  }

  async #callTogether(batches: Batches): Promise<Verdict> {
    try {
      const { meaning, latencyMs, share, verdict, jitter } = await batches.call(this);
      this.#share = share;
      this.#jitter = jitter;
      this.#note(meaning, latencyMs);
      return await this.#settle(verdict);
    } catch (error) {
      this.#throwUnlessClosed(error);
      return await this.#callTogether(batches);
    }
  }

  /** A call over a connection that was closed is made again. */
  #throwUnlessClosed(error: unknown): void {
    if (!(error instanceof ClosedConnectionError)) throw error;
    this.#calls += this.#share;
    this.#attempts += 1;
  }

  #note(meaning: Meaning, latencyMs: number): void {
    this.#last = meaning;
    this.#calls += this.#share;
    this.#billedMicros += meaning.costMicros ?? 0;
    this.#context.onCall?.({ domain: this.domain, meaning, latencyMs });
  }

  async #settle(verdict: Verdict | Promise<Verdict>): Promise<Verdict> {
    if (typeof verdict === 'string') return verdict;
    this.#bounds.onWithheld?.(true);
    try {
      return await verdict;
    } finally {
      this.#bounds.onWithheld?.(false);
    }
  }

  /** Makes further attempts. Most lookups end with the first one and are spared this cost. */
  async #tryAgain(first: Verdict): Promise<Verdict> {
    let isFirst = true;
    return await pRetry(
      async () => {
        const verdict = isFirst ? first : await this.#attempt();
        isFirst = false;
        if (isRetry(verdict)) throw new FailedError(verdict === 'soon');
        return verdict;
      },
      {
        retries: this.#context.retries,
        minTimeout: 0, // the wait is in shouldRetry, with full jitter and the server's wish
        shouldRetry: ({ error, retriesConsumed }) => this.#waitToRetry(error, retriesConsumed),
      },
    );
  }

  /** Waits before the next attempt. Returns false when there is none. */
  async #waitToRetry(error: Error, retriesMade: number): Promise<boolean> {
    if (!(error instanceof FailedError)) return false;
    const { clock, maxWaitMs, random, stopSwitch, onRetry } = this.#context;
    const last = this.#last;
    const retryAfterMs = (last && 'retryAfterMs' in last ? last.retryAfterMs : undefined) ?? 0;
    if (retryAfterMs > maxWaitMs) return false;
    await clock.sleep(
      Math.max(backoffMs(retriesMade, this.#jitter ?? random(), error.isSoon), retryAfterMs),
      stopSwitch.noNewCall,
    );
    onRetry();
    return true;
  }

  #conclude(verdict: Verdict): Outcome | undefined {
    const meaning = this.#last;
    if (!meaning || verdict === 'drop') return undefined;
    const isBelieved = verdict === 'believe';
    return {
      domain: this.domain,
      status: isBelieved ? STATUS_OF[meaning.kind] : 'failed',
      reason: meaning.kind === 'found' ? '' : meaning.reason,
      said: meaning.said,
      httpStatus: meaning.httpStatus,
      attempts: this.#attempts,
      calls: this.#calls,
      throttled: this.#throttled,
      billedMicros: this.#billedMicros || undefined,
      retryAfterMs: meaning.kind === 'pending' ? meaning.retryAfterMs : undefined,
      fetchedAtMs: this.#context.now(),
      json: isBelieved && meaning.kind === 'found' ? meaning.json : '',
    };
  }
}

const isRetry = (verdict: Verdict): boolean => verdict === 'retry' || verdict === 'soon';

const STATUS_OF: Readonly<Record<Meaning['kind'], Outcome['status']>> = {
  found: 'found',
  not_found: 'not_found',
  rejected: 'rejected',
  refused: 'rejected',
  pending: 'pending',
  failed: 'failed',
  redirect: 'failed',
  quota: 'failed',
  throttled: 'failed',
  away: 'failed',
  machine: 'failed',
};

/**
 * Full jitter: a random wait from zero up to 0.5 s, 1 s, 2 s, … 30 s, so that lookups that failed
 * together do not come back together.
 *
 * @param random from 0 to 1
 * @param isSoon what failed has nothing to do with others: up to 50 ms, 0.1 s, … 0.5 s
 * @see {@link https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ Exponential
 * backoff and jitter}
 */
function backoffMs(retriesMade: number, random: number, isSoon: boolean): number {
  const [leastMs, mostMs] = isSoon ? [50, 500] : [500, 30_000];
  return random * Math.min(leastMs * 2 ** retriesMade, mostMs);
}

/** An attempt that another one may better. */
class FailedError extends Error {
  override readonly name = 'FailedError';
  /** Whether the next attempt is as good as this one was. */
  readonly isSoon: boolean;

  constructor(isSoon: boolean) {
    super();
    this.isSoon = isSoon;
  }
}
