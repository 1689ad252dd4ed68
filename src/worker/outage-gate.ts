import { createWaitingRow } from '../common/waiting-row.ts';
import {
  createOutageState,
  describeOutage,
  mayStart,
  onCallAbandoned,
  onCallEnd,
  onProbeStart,
  outageMs,
} from '../guard/outage.ts';
import type { Clock } from '../pace/clock.ts';

/** Stops all calls while the API is out. */
export interface OutageGate {
  /** Lets a call through at once, or not at all. */
  tryPass(): boolean;
  /**
   * Waits until a call may start.
   *
   * @throws the signal's reason when it fires first
   */
  pass(signal: AbortSignal): Promise<void>;
  /** The call that passed has ended; without a verdict when it was given up. */
  ended(verdict: CallVerdict | undefined): void;
  /** True while failures say more about the API than about a domain. */
  readonly isOut: boolean;
  /** True while 503 is taken for the API's way to limit calls. */
  readonly isLimitedBy503: boolean;
  /** What is going on, in a sentence; undefined when all is well. */
  readonly describe: () => string | undefined;
}

export interface CallVerdict {
  readonly sentAtMs: number;
  readonly isFailure: boolean;
  /** Whether it was answered 503. */
  readonly isRefused: boolean;
  /** Asked of a failure: false when the domain is as likely to blame as the API. */
  readonly isEvidence: () => boolean;
}

export interface OutageGateOptions {
  readonly clock: Clock;
  /** How many calls may be under way at once when all is well. */
  readonly callers: number;
  /** The longest outage that is waited for. */
  readonly maxOutageMs: number;
  /** Told when it has lasted longer. */
  readonly onTooLong: () => void;
  /** Whether 503 was how the API limited calls when it was asked last. @default false */
  readonly wasLimitedBy503?: boolean | undefined;
  /** Told when 503 turned out to be how the API limits calls. @default nobody wants to know */
  readonly onLimitBy503?: () => void;
}

/** While callers wait, it looks again after this time, should one that passed never come back. */
const LOOK_AGAIN_MS = 1_000;

/** Keeps the state of the circuit breaker in this process. */
export function createOutageGate(options: OutageGateOptions): OutageGate {
  const { clock, callers, maxOutageMs, onTooLong, onLimitBy503 } = options;
  const state = createOutageState();
  state.limitBy503.isLimit = options.wasLimitedBy503 ?? false;
  let inFlight = 0;
  const waiting = createWaitingRow();
  /** Ends the sleep until it looks again; undefined while nobody waits. */
  let looking: AbortController | undefined;

  /** Asked and booked in one turn of the event loop: no two callers make the same probe. */
  function tryPass(): boolean {
    if (state.phase !== 'closed') {
      const nowMs = clock.nowMs();
      const advice = mayStart(state, { nowMs, inFlight, callers });
      if (advice === 'wait' || advice.atMs > nowMs) return false;
      if (advice.isProbe) onProbeStart(state, nowMs);
    }
    inFlight += 1;
    return true;
  }

  async function pass(signal: AbortSignal): Promise<void> {
    if (tryPass()) return;
    stopIfTooLong();
    signal.throwIfAborted();
    const turn = waiting.join(signal);
    if (!looking) void lookAgain();
    try {
      await turn;
    } finally {
      restIfAlone();
    }
  }

  function letThrough(): void {
    while (waiting.length > 0 && tryPass()) waiting.callNext();
    restIfAlone();
  }

  function restIfAlone(): void {
    if (waiting.length > 0) return;
    looking?.abort();
    looking = undefined;
  }

  /** One timer for all: calls may end thousands of times a second while many wait. */
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
      // Nobody waits any more.
    }
  }

  function stopIfTooLong(): void {
    if (outageMs(state, clock.nowMs()) > maxOutageMs) onTooLong();
  }

  function judge({ isFailure, isRefused, sentAtMs, isEvidence }: CallVerdict): void {
    const isLimit = isRefused && state.limitBy503.isLimit;
    // Once it is out, what a probe meets counts, whatever the domain.
    if (isFailure && !isLimit && state.phase === 'closed' && !isEvidence()) return;
    const { isLimit: wasLimit } = state.limitBy503;
    onCallEnd(state, { isFailure, isRefused, sentAtMs, nowMs: clock.nowMs() });
    if (!wasLimit && state.limitBy503.isLimit) onLimitBy503?.();
  }

  return {
    tryPass,
    pass,
    ended: (verdict) => {
      inFlight -= 1;
      if (verdict) judge(verdict);
      else onCallAbandoned(state, clock.nowMs());
      letThrough();
    },
    get isOut() {
      return state.phase === 'open' || state.phase === 'probing';
    },
    get isLimitedBy503() {
      return state.limitBy503.isLimit;
    },
    describe: () => describeOutage(state, clock.nowMs()),
  };
}
