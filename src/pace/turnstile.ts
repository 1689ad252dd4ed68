import { createCallsInFlight } from './calls-in-flight.ts';
import type { Clock } from './clock.ts';
import type { PaceEvent } from './pace-event.ts';
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

/** Lets calls start when the pacer says so, in the order in which they came. */
export interface Turnstile {
  /**
   * Waits until one call may start. A caller that gets through must make that call and report its
   * end once.
   *
   * @throws the signal's reason when it fires first
   */
  enter(signal: AbortSignal): Promise<void>;
  /** Enters if that needs no waiting. Returns whether it did. */
  tryEnter(): boolean;
  /**
   * The caller that got through at `enteredAtMs` was held up by something else and makes its call
   * only now.
   */
  startLate(enteredAtMs: number): void;
  /** Reports the end of a call. Returns for how many milliseconds no caller may get through. */
  report(outcome: CallReport): number;
  /** How long no caller may get through, in milliseconds; 0 when callers may. */
  waitMs(): number;
  /** The present pace and the reason for it. */
  describe(): PaceDescription;
}

/** A turnstile whose state can be kept for another run. */
export interface OwnTurnstile extends Turnstile {
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

export interface TurnstileOptions {
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
export function createTurnstile(options: TurnstileOptions): OwnTurnstile {
  const { rate, clock, random = Math.random } = options;
  let state = options.state ?? createPaceState({ rate }, clock.nowMs());
  const inFlight = createCallsInFlight();
  let lastInLine: Promise<void> = Promise.resolve();
  let inLine = 0;
  let sleeper: { readonly untilMs: number; wake(): void } | undefined;

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (tryEnter()) return;
    inLine += 1;
    const before = lastInLine;
    const turn = waitForTurn(before, signal);
    lastInLine = turn.catch(() => {}); // a caller that gives up does not hold up those behind it
    try {
      await turn;
    } finally {
      inLine -= 1;
    }
  }

  /** A caller must not overtake those in line. */
  function tryEnter(): boolean {
    return inLine === 0 && tryStart() === true;
  }

  async function waitForTurn(before: Promise<void>, signal: AbortSignal): Promise<void> {
    await before;
    signal.throwIfAborted();
    for (let next = tryStart(); next !== true; next = tryStart()) {
      // The gate may have moved during the sleep, so the pacer is asked again.
      await sleepUntil(next, signal);
      signal.throwIfAborted(); // a report may have woken the caller just before
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

  /**
   * Sleeps until a time, or until a report lets a call start sooner. Only the first caller in line
   * sleeps here.
   */
  async function sleepUntil(next: number | 'wait_for_answer', signal: AbortSignal): Promise<void> {
    const nowMs = clock.nowMs();
    const untilMs = next === 'wait_for_answer' ? nowMs + LONGEST_WAIT_FOR_ANSWER_MS : next;
    const wakeUp = new AbortController();
    const giveUp = (): void => wakeUp.abort();
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await Promise.race([
        clock.sleep(Math.max(1, untilMs - nowMs), wakeUp.signal),
        new Promise<void>((resolve) => {
          sleeper = { untilMs, wake: resolve };
        }),
      ]);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      sleeper = undefined;
      signal.removeEventListener('abort', giveUp);
      wakeUp.abort();
    }
  }

  function wakeIfSooner(nowMs: number): void {
    if (!sleeper) return;
    const next = nextStart(state, { nowMs, inFlight: inFlight.count(nowMs) });
    if (next !== 'wait_for_answer' && next.atMs < sleeper.untilMs - TIMER_MS) sleeper.wake();
  }

  function reportCall(outcome: CallReport): number {
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
    wakeIfSooner(nowMs);
    return Math.max(0, state.gateUntilMs - nowMs);
  }

  return {
    enter,
    tryEnter,
    startLate: (enteredAtMs) => inFlight.startLate(enteredAtMs, clock.nowMs()),
    report: reportCall,
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
