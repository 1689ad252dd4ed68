import { setMaxListeners } from 'node:events';
import { createWaitQueue } from '../common/run-control.ts';
import {
  createOutageState,
  describeOutage,
  mayStart,
  onCallAbandoned,
  onCallEnd,
  onProbeStart,
  outageMs,
  statedOutMs,
  stepBack,
} from '../guard/outage.ts';
import type { Clock } from '../pace/clock.ts';
import type { SharedRateLimiter } from '../pace/shared/rate-limiter.ts';
import type { WorkerStanding } from '../queue/lookup-queue.ts';
import { NotAskedError } from './stop-switch.ts';

/** Stops all calls while the API is out, or while this machine cannot make any. */
export interface CircuitBreaker {
  /**
   * Fires when calls that wait here are given up, because others may make them meanwhile.
   *
   * @default they wait until the run stops
   */
  readonly noNewCall?: AbortSignal;
  /** Lets a call through at once, or not at all. */
  tryAcquire(): boolean;
  /**
   * Waits until a call may start.
   *
   * @throws the signal's reason when it fires first
   */
  acquire(signal: AbortSignal): Promise<void>;
  /** The call that passed has ended. The verdict is undefined when the call was given up. */
  release(verdict: CallVerdict | undefined): void;
  /** True while failures say more about the API than about a domain. */
  readonly isOut: boolean;
  /** True while the API is taken to use 503 to limit calls. */
  readonly isLimitedBy503: boolean;
  /** For how long the API said to wait, in milliseconds; 0 when it said nothing. */
  readonly statedMs: () => number;
  /** The state of the outage in a sentence; undefined when there is none. */
  readonly describe: () => string | undefined;
}

export interface CallVerdict {
  readonly sentAtMs: number;
  readonly isFailure: boolean;
  /** Whether the answer was 503. */
  readonly isRefused: boolean;
  /** How long the API said to wait, with a failure. @default it said nothing */
  readonly retryAfterMs?: number | undefined;
  /** Whether the call got no connection, which no domain can be to blame for. @default false */
  readonly isUnreached?: boolean | undefined;
  /** Whether this machine could not make the call. @default false */
  readonly isOfMachine?: boolean | undefined;
  /** Whether that was for lack of what each call needs: fewer at a time may do. @default false */
  readonly isShortage?: boolean | undefined;
  /** Asked after a failure. False when the domain is as likely to be the cause as the API. */
  readonly isEvidence: () => boolean;
}

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** How many calls may be under way at once when all is well. */
  readonly callers: number;
  /** The longest outage that is waited for. */
  readonly maxOutageMs: number;
  /** Called when an outage has lasted longer. */
  readonly onTooLong: () => void;
  /** Whether an earlier run found that the API uses 503 to limit calls. @default false */
  readonly wasLimitedBy503?: boolean | undefined;
  /** Called when the API turns out to use 503 to limit calls. @default no callback */
  readonly onLimitBy503?: () => void;
}

/**
 * While callers wait, the breaker is asked again after this time, in case a call never ends.
 */
const LOOK_AGAIN_MS = 1_000;
/** After a shortage, so many of the calls that were too many at a time are made at a time. */
const AFTER_SHORTAGE = 0.75;
/** Calls that went well, for each that may be made at a time, before one more may be. */
const CALLS_BEFORE_MORE = 100;

/** Whether a failure is counted, for it may say more about the domain than about the API. */
function isCounted(verdict: CallVerdict): boolean {
  const { isFailure, isUnreached, isOfMachine, retryAfterMs = 0 } = verdict;
  return !isFailure || isUnreached || isOfMachine || retryAfterMs > 0 || verdict.isEvidence();
}

/** The breaker of this process alone. */
export interface OwnCircuitBreaker extends CircuitBreaker {
  /** Calls fail here that go well elsewhere. */
  stepBack(): void;
  /** Whether no call may start, and whether one may now, to find out. */
  readonly standing: () => 'open' | 'probe_due' | 'probing' | 'shut';
  /** Whether it was shut, and is not quite open yet, because calls fail here that go well elsewhere. */
  readonly isHere: () => boolean;
}

/** Keeps the state of the circuit breaker in this process. */
export function createCircuitBreaker(options: CircuitBreakerOptions): OwnCircuitBreaker {
  const { clock, callers, maxOutageMs, onTooLong, onLimitBy503 } = options;
  const state = createOutageState();
  state.limitBy503.isLimit = options.wasLimitedBy503 ?? false;
  let inFlight = 0;
  /** How many calls may be under way at once. This machine may be short of what they need. */
  let most = callers;
  let wellAtMost = 0;
  const waiting = createWaitQueue();
  /** Ends the sleep before the next check; undefined while no caller waits. */
  let looking: AbortController | undefined;

  /** Checks and books in one turn of the event loop, so that no two callers make the same probe. */
  function tryAcquire(): boolean {
    if (state.phase !== 'closed') {
      const nowMs = clock.nowMs();
      const advice = mayStart(state, { nowMs, inFlight, callers: most });
      if (advice === 'wait' || advice.atMs > nowMs) return false;
      if (advice.isProbe) onProbeStart(state, nowMs);
    } else if (inFlight >= most && most < callers) return false;
    inFlight += 1;
    return true;
  }

  async function acquire(signal: AbortSignal): Promise<void> {
    if (tryAcquire()) return;
    stopIfTooLong();
    signal.throwIfAborted();
    const turn = waiting.wait(signal);
    if (!looking) void lookAgain();
    try {
      await turn;
    } finally {
      restIfAlone();
    }
  }

  function letThrough(): void {
    while (waiting.length > 0 && tryAcquire()) waiting.wakeNext();
    restIfAlone();
  }

  function restIfAlone(): void {
    if (waiting.length > 0) return;
    looking?.abort();
    looking = undefined;
  }

  /** One timer for all callers: calls may end thousands of times a second while many wait. */
  async function lookAgain(): Promise<void> {
    const mine = new AbortController();
    looking = mine;
    try {
      while (waiting.length > 0) {
        await clock.sleep(LOOK_AGAIN_MS, mine.signal);
        letThrough();
        if (waiting.length > 0) stopIfTooLong();
      }
    } catch {
      // No caller waits any more.
    }
  }

  function stopIfTooLong(): void {
    if (outageMs(state, clock.nowMs()) > maxOutageMs) onTooLong();
  }

  function judge(verdict: CallVerdict): void {
    const { isFailure, isRefused, isShortage, isUnreached, isOfMachine } = verdict;
    const isLimit = isRefused && state.limitBy503.isLimit;
    // During an outage the result of a probe counts, whatever the domain.
    if (!isLimit && state.phase === 'closed' && !isCounted(verdict)) return;
    const { isLimit: wasLimit } = state.limitBy503;
    const wasShut = isShut();
    if (isShortage && !wasShut) {
      most = Math.max(1, Math.floor(Math.min(most, inFlight + 1) * AFTER_SHORTAGE));
      wellAtMost = 0;
    } else if (!isFailure && most < callers) allowMore();
    const { retryAfterMs, sentAtMs } = verdict;
    const nowMs = clock.nowMs();
    onCallEnd(state, {
      isFailure,
      isRefused,
      retryAfterMs,
      isUnreached,
      isOfMachine,
      callers,
      sentAtMs,
      nowMs,
    });
    if (!wasLimit && state.limitBy503.isLimit) onLimitBy503?.();
    if (wasShut && isShut()) stopIfTooLong();
  }

  function allowMore(): void {
    wellAtMost += 1;
    if (wellAtMost < CALLS_BEFORE_MORE * most) return;
    most += 1;
    wellAtMost = 0;
  }

  const isShut = (): boolean => state.phase === 'open' || state.phase === 'probing';

  return {
    tryAcquire,
    acquire,
    release: (verdict) => {
      inFlight -= 1;
      if (verdict) judge(verdict);
      else onCallAbandoned(state, clock.nowMs());
      letThrough();
    },
    get isOut() {
      return isShut();
    },
    get isLimitedBy503() {
      return state.limitBy503.isLimit;
    },
    statedMs: () => statedOutMs(state, clock.nowMs()),
    describe: () => describeOutage(state, clock.nowMs()),
    stepBack: () => stepBack(state, clock.nowMs()),
    standing: () => {
      if (!isShut()) return 'open';
      const nowMs = clock.nowMs();
      const advice = mayStart(state, { nowMs, inFlight, callers: most });
      if (advice !== 'wait' && advice.atMs <= nowMs) return 'probe_due';
      return state.phase === 'probing' ? 'probing' : 'shut';
    },
    isHere: () => state.phase !== 'closed' && state.cause === 'here',
  };
}

/** The breaker of a worker that is one of several. */
interface SharedCircuitBreaker extends CircuitBreaker, WorkerStanding {
  /** Gives up the lookups that wait here, because calls fail here that go well elsewhere. */
  stepBack(): void;
}

interface SharedCircuitBreakerOptions
  extends Pick<CircuitBreakerOptions, 'clock' | 'callers' | 'maxOutageMs' | 'onTooLong'> {
  /** Fires when the run stops. */
  readonly noNewCall: AbortSignal;
}

/**
 * The circuit breaker of all workers together, and the one of this worker alone.
 *
 * The API is out for all: that is decided where start times are given out, in the shared rate limiter.
 * A cause on this machine concerns this worker alone. It steps back: calls that wait are given up,
 * so that their lookups go back to the queue and to other workers. When it is time, it takes one
 * chunk and makes one call, the probe. If that goes well, it comes back to speed in steps.
 */
export function createSharedCircuitBreaker(
  limiter: SharedRateLimiter,
  { noNewCall, ...options }: SharedCircuitBreakerOptions,
): SharedCircuitBreaker {
  const own = createCircuitBreaker(options);
  let stepping = new AbortController();
  let mayCall = anyOf(noNewCall, stepping.signal);
  const isSharedOut = (): boolean => ['open', 'probing'].includes(limiter.outage.phase);

  function giveUpIfShut(): void {
    if (own.standing() === 'shut') stepping.abort(new NotAskedError());
  }

  return {
    get noNewCall() {
      if (stepping.signal.aborted && own.standing() !== 'shut') {
        stepping = new AbortController();
        mayCall = anyOf(noNewCall, stepping.signal);
      }
      return mayCall;
    },
    tryAcquire: () => own.tryAcquire(),
    acquire: (signal) => own.acquire(signal),
    release: (verdict) => {
      if (!verdict) return own.release(undefined);
      const { isEvidence, isOfMachine = false, isShortage, ...call } = verdict;
      const isFailure = isOfMachine || (own.isHere() && call.isFailure);
      const { sentAtMs } = call;
      own.release({ sentAtMs, isFailure, isRefused: false, isOfMachine, isShortage, isEvidence });
      giveUpIfShut();
      if (isOfMachine) return;
      // During an outage the result of a probe counts, whatever the domain.
      const isLimit = call.isRefused && limiter.outage.limitBy503.isLimit;
      const isClosed = limiter.outage.phase === 'closed';
      if (!isLimit && isClosed && !isCounted(verdict)) return;
      limiter.reportHealth(call);
    },
    get isOut() {
      return own.isOut || isSharedOut();
    },
    get isLimitedBy503() {
      return limiter.outage.limitBy503.isLimit;
    },
    statedMs: limiter.statedOutMs,
    describe: () => own.describe() ?? limiter.describeOutage(),
    stepBack: () => {
      own.stepBack();
      giveUpIfShut();
    },
    describeStepBack: () => (own.isOut ? own.describe() : undefined),
    appetite: () => {
      const standing = own.standing();
      if (standing === 'open') return 'any';
      return standing === 'probe_due' ? 'one_chunk' : 'none';
    },
  };
}

function anyOf(...signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  // There is one listener per caller; with more than ten, Node.js suspects a leak.
  setMaxListeners(0, any);
  return any;
}
