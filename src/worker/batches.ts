import type { Answer } from '../brand/answer.ts';
import type { BatchProfile } from '../brand/api-profile.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { Permit } from '../guard/budget.ts';
import {
  acquireAll,
  asLimit,
  type CallContext,
  type CallQuestions,
  type CallResult,
  callWith,
  countCall,
  giveUp,
  settle,
} from './call.ts';
import { NotAskedError } from './stop-switch.ts';

/**
 * Asks about several domains in one call, where the API has batches. Budget, pace, circuit breaker and
 * counters see calls; each lookup gets the answer about its own domain, and goes on as after a call of
 * its own.
 *
 * ```text
 *   lookup ─call─▶ waiting ─turn─▶ one call ─reply─▶ answer of each domain ─▶ lookup
 *                     ▲               │
 *                     └── in halves ──┘ refused as a whole: one domain may be to blame
 * ```
 *
 * A domain that a reply is silent about is asked about alone. A call about one domain is the one that
 * the API has for that.
 */
export interface Batches {
  /**
   * Asks about one domain, together with others that wait.
   *
   * @throws what `callInTurn` throws
   */
  call(questions: CallQuestions): Promise<CallResult>;
}

export interface BatchesOptions {
  readonly context: CallContext;
  readonly endpoint: Endpoint;
  readonly batch: BatchProfile;
  /** How many calls may be under way at once. */
  readonly concurrency: number;
}

/** A lookup that waits for its call. */
/** A call under way. */
interface Calling {
  /** When it began, as `credence.weigh` wants to know. */
  readonly begun: number;
  /** Whether it is one of the first calls. */
  readonly isFirst: boolean;
}

interface Asked {
  readonly questions: CallQuestions;
  /** Only those of the same part go together: of a call that was refused, each half. */
  part: object | undefined;
  readonly resolve: (result: CallResult) => void;
  readonly reject: (error: unknown) => void;
}

/** A call waits this long for others to join it, unless it is full. */
const LINGER_MS = 5;

/** Of a call about several domains, these may be due to one of them. */
const OF_ONE: ReadonlySet<Answer['kind']> = new Set([
  'found', // as a whole: no answers could be found in it
  'rejected',
  'forbidden',
  'not_found',
  'refused',
  'invalid_response',
  'redirect',
]);

const MISSING: Answer = { kind: 'try_again', httpStatus: 200, reason: 'missing_in_reply' };

/** How many lookups keep all calls full. */
export function lookupsAtOnce(concurrency: number, { profile }: Endpoint): number {
  return concurrency * (profile?.batch?.size ?? 1);
}

export function createBatches({ context, endpoint, batch, concurrency }: BatchesOptions): Batches {
  const { breaker, client, clock, credence, stopSwitch } = context;
  const waiting: Asked[] = [];
  /** Lookups that a reply was silent about. */
  const alone = new WeakSet<CallQuestions>();
  let underWay = 0;
  let isLingering = false;

  /** Starts calls: full ones and those that nobody joins at once, another one after a moment. */
  function start(): void {
    for (let first = waiting[0]; first && underWay < concurrency; first = waiting[0]) {
      const isDue = waiting.length >= batch.size || first.part !== undefined || !mayJoin(first);
      if (!isDue) return void linger();
      waiting.shift();
      send([first, ...takeMore(first, batch.size - 1)]);
    }
  }

  async function linger(): Promise<void> {
    if (isLingering) return;
    isLingering = true;
    await clock.sleep(LINGER_MS, stopSwitch.noNewCall).catch(() => {}); // the call itself says why
    isLingering = false;
    const first = underWay < concurrency ? waiting.shift() : undefined;
    if (first) send([first, ...takeMore(first, batch.size - 1)]);
    start();
  }

  function send(asked: readonly [Asked, ...Asked[]]): void {
    underWay += 1;
    void callAbout(asked).finally(() => {
      underWay -= 1;
      start();
    });
  }

  async function callAbout(asked: readonly [Asked, ...Asked[]]): Promise<void> {
    const [first, ...more] = asked;
    let isFirstCall = false;
    let left: readonly Asked[] = more;
    try {
      isFirstCall = !credence.isOpen;
      if (isFirstCall) await credence.pass(breaker.noNewCall ?? stopSwitch.noNewCall);
      if (!first.questions.isWanted()) throw new NotAskedError();
      const permit = await acquireAll(context, first.questions);
      left = [];
      // Waiting for the turn may have taken long.
      const wanted = more.filter(isWanted);
      const joined = takeMore(first, batch.size - 1 - wanted.length);
      if (wanted.length + joined.length === 0) await callAlone(permit, first, isFirstCall);
      else await callTogether(permit, [first, ...wanted, ...joined], isFirstCall);
    } catch (error) {
      first.reject(error);
      waiting.unshift(...left); // what became of them, they find out themselves
    } finally {
      if (isFirstCall) credence.ended();
    }
  }

  function isWanted({ questions, reject }: Asked): boolean {
    const isIt = questions.isWanted();
    if (!isIt) reject(new NotAskedError());
    return isIt;
  }

  const mayJoin = ({ questions }: Asked): boolean => !alone.has(questions);

  /** Those that wait and go with the first: of the same part and the same budget, in their order. */
  function takeMore(first: Asked, most: number): readonly Asked[] {
    const taken: Asked[] = [];
    if (!mayJoin(first)) return taken;
    const { budget, counters } = first.questions;
    for (let at = 0; at < waiting.length && taken.length < most; ) {
      const next = waiting[at];
      const fits =
        next !== undefined &&
        next.part === first.part &&
        next.questions.budget === budget &&
        next.questions.counters === counters &&
        mayJoin(next);
      if (!fits) at += 1;
      else {
        waiting.splice(at, 1);
        if (isWanted(next)) taken.push(next);
      }
    }
    return taken;
  }

  async function callAlone(permit: Permit, one: Asked, isFirstCall: boolean): Promise<void> {
    const { questions } = one;
    const result = await callWith(permit, endpoint.path(questions.domain), context, questions);
    if (isFirstCall) credence.note(result.answer, questions.domain, () => questions.isSign());
    one.resolve(result);
  }

  async function callTogether(
    permit: Permit,
    asked: readonly [Asked, ...Asked[]],
    isFirstCall: boolean,
  ): Promise<void> {
    const [{ questions }] = asked;
    const sentAtMs = clock.nowMs();
    countCall(context, questions);
    const call = { permit, context, sentAtMs, questions };
    const calling: Calling = { begun: credence.begin(), isFirst: isFirstCall };
    try {
      const domains = asked.map((one) => one.questions.domain);
      const { answer, answers } = await client.callBatch(batch, domains, stopSwitch.noCall);
      const result = settle(asLimit(answer, context), call);
      if (answers) {
        for (const one of asked) give(one, answers.get(one.questions.domain), result, calling);
      } else if (OF_ONE.has(result.answer.kind)) goInHalves(asked);
      else for (const { resolve } of asked) resolve(result);
    } catch (error) {
      giveUp(call);
      for (const { reject } of asked) reject(error);
    }
  }

  function give(
    { questions, resolve }: Asked,
    said: Answer | undefined,
    result: CallResult,
    { begun, isFirst }: Calling,
  ): void {
    if (!said) alone.add(questions);
    const answer = credence.weigh(said ?? MISSING, questions.domain, begun);
    if (isFirst) credence.note(answer, questions.domain, () => questions.isSign());
    resolve({ ...result, answer });
  }

  /** So one bad domain among a hundred costs a dozen calls, not a hundred, and none of the others. */
  function goInHalves(asked: readonly Asked[]): void {
    const middle = Math.ceil(asked.length / 2);
    const halves = [asked.slice(0, middle), asked.slice(middle)];
    for (const half of halves) {
      const part = {};
      for (const one of half) one.part = part;
    }
    waiting.unshift(...asked);
  }

  return {
    call: (questions) =>
      new Promise((resolve, reject) => {
        waiting.push({ questions, part: undefined, resolve, reject });
        start();
      }),
  };
}
