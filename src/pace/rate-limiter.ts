import { createWaitQueue } from '../common/run-control.ts';
import type { Clock } from './clock.ts';
import type { PaceEvent } from './pace-state.ts';
import {
  book,
  createPaceState,
  describePace,
  nextStart,
  type PaceDescription,
  type PaceState,
  report,
} from './pacer.ts';
import type { Rate } from './rate.ts';

/**
 * Lets calls start when the pacer says so, in the order in which they came. It has two homes: the
 * state is kept in this process (`createRateLimiter`), or by all workers together
 * (`createSharedRateLimiter`).
 *
 * ```text
 *   a caller ─acquire─▶ in line ──start time and place in flight──▶ in flight ─release─▶ done
 *                          │ the signal fires                          ▲  │
 *                          ▼                                           └──┘ restart
 *                        gone
 * ```
 */
export interface RateLimiter {
  /**
   * Waits until one call may start. A caller that gets through must make that call and report its
   * end once.
   *
   * @throws the signal's reason when it fires first
   */
  acquire(signal: AbortSignal): Promise<void>;
  /** Enters if that needs no waiting. Returns whether it did. */
  tryAcquire(): boolean;
  /**
   * The caller that got through at `acquiredAtMs` was held up by something else and makes its call
   * only now.
   */
  restart(acquiredAtMs: number): void;
  /** Reports the end of a call. Returns for how many milliseconds no caller may get through. */
  release(outcome: CallReport): number;
  /** How long no caller may get through, in milliseconds; 0 when callers may. */
  waitMs(): number;
  /** The present pace and the reason for it. */
  describe(): PaceDescription;
}

/** A limiter whose state can be kept for another run. */
export interface OwnRateLimiter extends RateLimiter {
  /**
   * Forgets what was learned, because answers have another meaning from now on. A fixed rate is
   * kept.
   */
  startAnew(): void;
  /** A copy of the state as of now: plain data that survives JSON. */
  snapshot(): PaceState;
}

/** The end of one call. */
export type CallReport = Pick<PaceEvent, 'kind' | 'sentAtMs' | 'retryAfterMs' | 'limits'>;

export interface RateLimiterOptions {
  /** A fixed rate that is never exceeded. Without one, the rate is found. */
  readonly rate?: Rate | undefined;
  /** The state that an earlier run learned. @default none */
  readonly state?: PaceState | undefined;
  readonly clock: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/**
 * While a caller waits for an answer, it asks again at least this often, in case the answer is
 * never reported.
 */
const LONGEST_WAIT_FOR_ANSWER_MS = 1_000;

/** The precision of timers. */
const TIMER_MS = 1;

/** Keeps the pacer's state in this process. */
export function createRateLimiter(options: RateLimiterOptions): OwnRateLimiter {
  const { rate, clock, random = Math.random } = options;
  let state = options.state ?? createPaceState({ rate }, clock.nowMs());
  const inFlight = new CallsInFlight();
  const waiting = createWaitQueue();
  /** Until the first of them may start. */
  let sleeping: { readonly untilMs: number; readonly stop: AbortController } | undefined;

  async function acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (tryAcquire()) return;
    const turn = waiting.wait(signal);
    letThrough();
    try {
      await turn;
      // The signal fired right after the caller was let through: the next one may start instead.
      if (signal.aborted) releaseCall({ kind: 'abandoned', sentAtMs: clock.nowMs() });
      signal.throwIfAborted();
    } finally {
      if (waiting.length === 0) stopSleeping();
    }
  }

  /** A caller must not overtake those that wait. */
  function tryAcquire(): boolean {
    return waiting.length === 0 && tryStart() === true;
  }

  function letThrough(): void {
    while (waiting.length > 0) {
      const next = tryStart();
      if (next !== true) return sleepUntil(next);
      waiting.wakeNext();
    }
  }

  /**
   * Returns true when a call was started, or when to ask again. Checks and books in one turn of the
   * event loop, so that no two callers take the same slot.
   */
  function tryStart(): true | number | 'wait_for_answer' {
    const nowMs = clock.nowMs();
    const next = nextStart(state, { nowMs, inFlight: inFlight.count(nowMs) });
    if (next === 'wait_for_answer') return next;
    if (next.atMs > nowMs) return next.atMs;
    book(state, nowMs);
    inFlight.start(nowMs);
    return true;
  }

  /** The gate may move during the sleep, so the pacer is asked again after it. */
  function sleepUntil(next: number | 'wait_for_answer'): void {
    const nowMs = clock.nowMs();
    const untilMs = next === 'wait_for_answer' ? nowMs + LONGEST_WAIT_FOR_ANSWER_MS : next;
    if (sleeping && sleeping.untilMs <= untilMs + TIMER_MS) return;
    stopSleeping();
    const stop = new AbortController();
    sleeping = { untilMs, stop };
    const wake = (): void => {
      sleeping = undefined;
      letThrough();
    };
    clock.sleep(Math.max(1, untilMs - nowMs), stop.signal).then(wake, () => {}); // it was stopped
  }

  function stopSleeping(): void {
    sleeping?.stop.abort();
    sleeping = undefined;
  }

  function releaseCall(outcome: CallReport): number {
    const nowMs = clock.nowMs();
    const { kind, sentAtMs, retryAfterMs, limits } = outcome;
    const flying = inFlight.end(sentAtMs);
    const latencyMs = nowMs - sentAtMs;
    // Written out: a spread with overridden members costs several times as much.
    report(
      state,
      { kind, sentAtMs, retryAfterMs, limits, latencyMs, inFlight: flying, random: random() },
      nowMs,
    );
    letThrough();
    return Math.max(0, state.gateUntilMs - nowMs);
  }

  return {
    acquire,
    tryAcquire,
    restart: (acquiredAtMs) => inFlight.restart(acquiredAtMs, clock.nowMs()),
    release: releaseCall,
    waitMs: () => describePace(state, clock.nowMs()).waitMs,
    describe: () => describePace(state, clock.nowMs()),
    startAnew: () => {
      if (!state.fixed) state = createPaceState({}, clock.nowMs());
    },
    snapshot: () => ({
      ...structuredClone(state),
      latestMs: Math.max(state.latestMs, clock.nowMs()),
    }),
  };
}

/** A call that is not reported within this time counts as lost. */
const LOST_AFTER_MS = 5 * 60_000;

/** The calls that were let through and not yet reported. */
export class CallsInFlight {
  /** Oldest first. */
  readonly #calls: { readonly startMs: number; readonly inFlight: number }[] = [];

  start(atMs: number): void {
    this.#calls.push({ startMs: atMs, inFlight: this.#calls.length + 1 });
  }

  /**
   * Ends the call that was sent at that time. Returns how many were in flight when it was sent,
   * itself included. A call that was already given up as lost ends none.
   */
  end(sentAtMs: number): number {
    // A call is sent right after it was let through. Calls that end are mostly among the oldest.
    const later = this.#calls.findIndex(({ startMs }) => startMs > sentAtMs);
    const at = (later < 0 ? this.#calls.length : later) - 1;
    if (at < 0) return 1;
    const [call] = this.#calls.splice(at, 1);
    return call?.inFlight ?? 1;
  }

  /** The call that was let through at `acquiredAtMs` starts only now. */
  restart(acquiredAtMs: number, atMs: number): void {
    this.end(acquiredAtMs);
    this.start(atMs);
  }

  count(nowMs: number): number {
    while (this.#calls[0] && nowMs - this.#calls[0].startMs > LOST_AFTER_MS) this.#calls.shift();
    return this.#calls.length;
  }

  /** When the calls were let through, ascending. */
  sentAtMs(nowMs: number): number[] {
    this.count(nowMs); // forgets the lost
    return this.#calls.map(({ startMs }) => startMs);
  }
}

/** How long no call could start, in milliseconds of wall-clock time, by reason. */
export interface GateWaits {
  /** The API stated the wait. */
  readonly told: number;
  /** The API throttled calls without stating a wait. */
  readonly backingOff: number;
}

/** A limiter whose waits are measured. */
export interface WaitMeter {
  /** Works as the wrapped limiter does. */
  readonly limiter: RateLimiter;
  /** The waits up to now. */
  readonly waitedMs: () => GateWaits;
}

/** A closing time that differs by less is the same one. */
const JITTER_MS = 1;

/**
 * Measures how long the gate is closed, from each report that closes it until it opens. The time is
 * counted once, however many callers wait.
 */
export function createWaitMeter(limiter: RateLimiter, clock: Clock): WaitMeter {
  const totalMs = { told: 0, backingOff: 0 };
  let why: keyof GateWaits = 'told';
  let fromMs = clock.nowMs();
  let untilMs = fromMs;

  // A wait may be left over from an earlier run.
  if (limiter.describe().why === 'told_to_wait') note(limiter.waitMs());

  function note(closedMs: number): void {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs + closedMs - untilMs) < JITTER_MS) return;
    totalMs[why] += lastedMs(nowMs);
    why = limiter.describe().why === 'backing_off' ? 'backingOff' : 'told';
    fromMs = nowMs;
    untilMs = nowMs + closedMs;
  }

  function lastedMs(nowMs: number): number {
    return Math.max(0, Math.min(nowMs, untilMs) - fromMs);
  }

  return {
    limiter: {
      ...limiter,
      release: (outcome) => {
        const closedMs = limiter.release(outcome);
        if (closedMs > 0) note(closedMs);
        return closedMs;
      },
    },
    waitedMs: () => ({ ...totalMs, [why]: totalMs[why] + lastedMs(clock.nowMs()) }),
  };
}
