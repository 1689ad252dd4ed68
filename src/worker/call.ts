import type { Answer } from '../brand/answer.ts';
import type { BrandClient } from '../brand/client.ts';
import type { CallCounters } from '../common/calls.ts';
import { type Budget, both, isUsedUp, type Permit } from '../guard/budget.ts';
import type { Clock } from '../pace/clock.ts';
import type { RateLimiter } from '../pace/rate-limiter.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { Credence } from './credence.ts';
import { NotAskedError, type StopSwitch } from './stop-switch.ts';

/**
 * One call, and what it needs of others before it starts. All are acquired, and released once:
 *
 * ```text
 *             acquire                                        release
 *   pause ▶ budget ▶ rate limiter ▶ circuit breaker ▶ call ▶ what the answer says to each of them
 *      ▲                                  │
 *      └─ it took too long, or the run ───┘
 *         was paused: all begins anew
 * ```
 *
 * | | bounds | acquired | released |
 * |---|---|---|---|
 * | budget (`guard/budget.ts`) | calls in all | one call | as spent, or back: the call was not made, or answered 429 |
 * | rate limiter (`pace/rate-limiter.ts`) | calls a second, and under way | a start time | with the kind of the answer, and the limits it states |
 * | circuit breaker (`worker/circuit-breaker.ts`) | calls in an outage | a place under way | with whether it failed |
 *
 * Each has two homes, in this process or with all workers of a credential, and one interface.
 */

/**
 * A caller that is held up longer than this after its turn came gives the turn back and waits
 * again.
 */
const TURN_MS = 2_000;

/** The parts that every call needs. */
export interface CallContext {
  readonly client: BrandClient;
  readonly limiter: RateLimiter;
  readonly breaker: CircuitBreaker;
  readonly credence: Credence;
  readonly budget: Budget;
  readonly stopSwitch: StopSwitch;
  readonly counters: CallCounters;
  /** Called with the reason when a call gets no valid answer. */
  readonly onTrouble?: (reason: string) => void;
  /**
   * Called when a call ended. The status is undefined when there was no answer or the call was
   * given up.
   */
  readonly onCallEnd?: ((httpStatus: number | undefined, latencyMs: number) => void) | undefined;
  /** Holds calls back while the run is paused. @default calls are never held back */
  readonly pause?: PauseGate | undefined;
  readonly clock: Clock;
}

/** Lets no call start while it is closed. */
export interface PauseGate {
  readonly isPaused: boolean;
  /** @throws the signal's reason when it fires first */
  whileOpen(signal: AbortSignal): Promise<void>;
}

/** The questions that a call asks its lookup. */
export interface CallQuestions {
  /** The domain that is asked about. */
  readonly domain: string;
  /**
   * Whether a failure would speak against the API rather than the domain. Asked once per failure.
   */
  isEvidence(): boolean;
  /**
   * Whether an answer such as a wrong address gives counts as a sign of one. Asked once per such answer.
   */
  isSign(): boolean;
  /**
   * Asked before the call, and again when its turn has come, which may take long. False spares the
   * call.
   */
  isWanted(): boolean;
  /** Bounds the lookup's calls in addition to the budget of all lookups. @default no such bound */
  readonly budget?: Budget | undefined;
  /**
   * Counts the lookup's calls in addition to the totals of all lookups. @default not counted
   */
  readonly counters?: CallCounters | undefined;
}

/** The result of a call. */
export interface CallResult {
  readonly answer: Answer;
  /** For how long, in milliseconds, no caller may start a call because of this answer. */
  readonly closedMs: number;
  /** From its start to the last byte of the answer, in milliseconds. */
  readonly latencyMs: number;
}

/**
 * Makes one call once the budget has one left, the API is not out and the pacer lets it start.
 * Reports the answer to all three.
 *
 * @throws NotAskedError when a budget is used up, or the call is no longer wanted
 * @throws the stop switch's reasons when the run stops first
 */
export function callInTurn(
  path: string,
  context: CallContext,
  questions: CallQuestions,
): Promise<CallResult> {
  return context.credence.isOpen
    ? makeCall(path, context, questions)
    : makeFirstCall(path, context, questions);
}

async function makeFirstCall(
  path: string,
  context: CallContext,
  questions: CallQuestions,
): Promise<CallResult> {
  const { credence, breaker, stopSwitch } = context;
  await credence.pass(breaker.noNewCall ?? stopSwitch.noNewCall);
  try {
    const result = await makeCall(path, context, questions);
    credence.note(result.answer, questions.domain, () => questions.isSign());
    return result;
  } finally {
    credence.ended();
  }
}

async function makeCall(
  path: string,
  context: CallContext,
  questions: CallQuestions,
): Promise<CallResult> {
  if (!questions.isWanted()) throw new NotAskedError();
  const permit = tryAcquireAll(context, questions) ?? (await acquireAll(context, questions));
  return await callWith(permit, path, context, questions);
}

/** Makes a call that everything was acquired for. */
export async function callWith(
  permit: Permit,
  path: string,
  context: CallContext,
  questions: CallQuestions,
): Promise<CallResult> {
  const { client, credence, stopSwitch, clock } = context;
  const sentAtMs = clock.nowMs();
  const begun = credence.begin();
  countCall(context, questions);
  try {
    const answered = await client.call(path, stopSwitch.noCall, questions.domain);
    const answer = asLimit(credence.weigh(answered, questions.domain, begun), context);
    return settle(answer, { permit, context, sentAtMs, questions });
  } catch (error) {
    giveUp({ permit, context, sentAtMs, questions });
    throw error;
  }
}

/** Counts a call that begins. */
export function countCall({ counters }: CallContext, { counters: own }: CallQuestions): void {
  counters.calls += 1;
  if (own) own.calls += 1;
}

/** Releases all that a call has acquired, with what its answer says to each. */
export function settle(answer: Answer, ended: EndedCall): CallResult {
  const { permit, context, sentAtMs, questions } = ended;
  const latencyMs = context.clock.nowMs() - sentAtMs;
  context.onCallEnd?.(answer.httpStatus, latencyMs);
  const { costMicros = 0 } = answer;
  context.counters.billedMicros += costMicros;
  if (questions.counters) questions.counters.billedMicros += costMicros;
  if (answer.kind === 'throttled') {
    context.counters.throttled += 1;
    if (questions.counters) questions.counters.throttled += 1;
    permit.release();
  } else permit.spend(answer.costMicros);
  return { answer, closedMs: release(answer, ended), latencyMs };
}

/** Releases all that a call has acquired that was given up while under way, and may well be billed. */
export function giveUp({ permit, context, sentAtMs }: EndedCall): void {
  permit.spend();
  context.onCallEnd?.(undefined, context.clock.nowMs() - sentAtMs);
  abandon(context, sentAtMs);
}

/**
 * Does what `acquireAll` does for a wanted call when there is nothing to wait for. Most calls take
 * this way and are spared the cost of waiting.
 */
function tryAcquireAll(
  { budget, clock, breaker, pause, stopSwitch, limiter }: CallContext,
  { budget: own }: CallQuestions,
): Permit | undefined {
  if (own || pause?.isPaused || stopSwitch.stopped || breaker.isOut) return undefined;
  const permit = budget.tryAcquire();
  if (permit && limiter.tryAcquire()) {
    if (breaker.tryAcquire()) return permit;
    limiter.release({ kind: 'abandoned', sentAtMs: clock.nowMs() });
  }
  permit?.release();
  return undefined;
}

/**
 * Waits until budget, rate limiter and circuit breaker all let a call start at the same moment.
 */
export async function acquireAll(context: CallContext, questions: CallQuestions): Promise<Permit> {
  const { breaker, pause, stopSwitch, clock } = context;
  for (;;) {
    const noNewCall = breaker.noNewCall ?? stopSwitch.noNewCall;
    if (pause?.isPaused) await pause.whileOpen(noNewCall);
    const permit = await acquireBudget(context, questions, noNewCall);
    await acquireTurn(context, permit);
    const turnAtMs = clock.nowMs();
    const isTurn = (): boolean =>
      permit.isGood() && !pause?.isPaused && clock.nowMs() - turnAtMs < TURN_MS;
    // A caller resumes a moment after it was let through. The run may have stopped by then.
    const mayAsk = !stopSwitch.stopped && questions.isWanted();
    if (mayAsk && isTurn()) return permit;
    permit.release();
    abandon(context, clock.nowMs());
    if (!mayAsk) throw new NotAskedError();
  }
}

/** @throws NotAskedError when a budget is used up; the run stops when it is that of all lookups */
async function acquireBudget(
  { budget, stopSwitch }: CallContext,
  { budget: own }: CallQuestions,
  signal: AbortSignal,
): Promise<Permit> {
  const ofOwn = await own?.acquire(signal);
  if (ofOwn && isUsedUp(ofOwn)) throw new NotAskedError();
  let isAcquired = false;
  try {
    const permit = await budget.acquire(signal);
    if (isUsedUp(permit)) {
      stopSwitch.stop(permit);
      throw new NotAskedError();
    }
    isAcquired = true;
    return ofOwn ? both(ofOwn, permit) : permit;
  } finally {
    if (!isAcquired) ofOwn?.release();
  }
}

function abandon({ breaker, limiter }: CallContext, sentAtMs: number): void {
  breaker.release(undefined);
  limiter.release({ kind: 'abandoned', sentAtMs });
}

async function acquireTurn(
  { limiter, breaker, stopSwitch, clock }: CallContext,
  permit: Permit,
): Promise<void> {
  const noNewCall = breaker.noNewCall ?? stopSwitch.noNewCall;
  let acquiredAtMs: number | undefined;
  try {
    await limiter.acquire(noNewCall);
    acquiredAtMs = clock.nowMs();
    if (breaker.tryAcquire()) return;
    await breaker.acquire(noNewCall);
    limiter.restart(acquiredAtMs);
  } catch (error) {
    if (acquiredAtMs !== undefined) limiter.release({ kind: 'abandoned', sentAtMs: acquiredAtMs });
    permit.release();
    throw error;
  }
}

/** Turns a 503 into a throttle, which costs no attempt, when the API was found to limit calls with it. */
export function asLimit(answer: Answer, { breaker }: CallContext): Answer {
  const { httpStatus } = answer;
  if (answer.kind !== 'try_again' || httpStatus !== 503 || !breaker.isLimitedBy503) return answer;
  const { reason: _, about: __, ...others } = answer;
  return { ...others, kind: 'throttled', httpStatus, retryAfterMs: undefined };
}

interface EndedCall {
  readonly permit: Permit;
  readonly context: CallContext;
  readonly sentAtMs: number;
  readonly questions: CallQuestions;
}

/**
 * Releases circuit breaker and rate limiter with what the answer says to each. Returns for how many milliseconds no call
 * may start.
 */
function release(answer: Answer, { context, sentAtMs, questions }: EndedCall): number {
  const { limiter, breaker } = context;
  const statedOutMs = breaker.isLimitedBy503 ? 0 : statedOutMsOf(answer);
  const isFailure = isOutage(answer) || statedOutMs > 0;
  if (isFailure)
    context.onTrouble?.('reason' in answer ? answer.reason : `http_${answer.httpStatus}`);
  breaker.release({
    isFailure,
    isRefused: answer.httpStatus === 503,
    retryAfterMs: statedOutMs,
    isUnreached: UNREACHED.has(reasonOf(answer)),
    isOfMachine: answer.kind === 'try_again' && answer.about === 'machine',
    isShortage: SHORTAGES.has(reasonOf(answer)),
    sentAtMs,
    isEvidence: () => questions.isEvidence(),
  });
  // Maintenance is nothing that the rate could be to blame for: the circuit breaker waits as told.
  const kind = statedOutMs > 0 ? 'failed' : paceKindOf(answer);
  const retryAfterMs =
    kind === 'throttled' && 'retryAfterMs' in answer ? answer.retryAfterMs : undefined;
  const closedMs = limiter.release({ kind, sentAtMs, retryAfterMs, limits: answer.limits });
  return Math.max(closedMs, statedOutMs);
}

/** How long an API that is out said to wait; 0 when it said nothing. */
function statedOutMsOf(answer: Answer): number {
  return answer.kind === 'throttled' && answer.httpStatus >= 500 ? (answer.retryAfterMs ?? 0) : 0;
}

function reasonOf(answer: Answer): string {
  return answer.kind === 'try_again' ? answer.reason : '';
}

/** A call that ends so did not get as far as a connection. */
const UNREACHED: ReadonlySet<string> = new Set(['connection_refused', 'proxy_connection_refused']);

/** What each call needs one of. */
const SHORTAGES: ReadonlySet<string> = new Set(['too_many_open_files', 'no_local_port']);

/** The meaning of an answer for the pace. */
function paceKindOf(answer: Answer): 'accepted' | 'throttled' | 'failed' {
  switch (answer.kind) {
    case 'throttled':
      return 'throttled';
    case 'quota_used_up':
      return answer.retryAfterMs === undefined ? 'accepted' : 'throttled';
    case 'try_again':
      return 'failed';
    default:
      return 'accepted';
  }
}

/** Whether an answer, or its absence, speaks against the API as a whole or this machine. */
function isOutage(answer: Answer): boolean {
  return answer.kind === 'try_again' && answer.about !== undefined;
}
