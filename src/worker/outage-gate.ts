import { createWaitQueue } from '../common/wait-queue.ts';
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
  /** The call that passed has ended. The verdict is undefined when the call was given up. */
  ended(verdict: CallVerdict | undefined): void;
  /** True while failures say more about the API than about a domain. */
  readonly isOut: boolean;
  /** True while the API is taken to use 503 to limit calls. */
  readonly isLimitedBy503: boolean;
  /** The state of the outage in a sentence; undefined when there is none. */
  readonly describe: () => string | undefined;
}

export interface CallVerdict {
  readonly sentAtMs: number;
  readonly isFailure: boolean;
  /** Whether the answer was 503. */
  readonly isRefused: boolean;
  /** Asked after a failure. False when the domain is as likely to be the cause as the API. */
  readonly isEvidence: () => boolean;
}

export interface OutageGateOptions {
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
 * While callers wait, the gate checks again after this time, in case a call that passed never ends.
 */
const LOOK_AGAIN_MS = 1_000;

/** Keeps the state of the circuit breaker in this process. */
export function createOutageGate(options: OutageGateOptions): OutageGate {
  const { clock, callers, maxOutageMs, onTooLong, onLimitBy503 } = options;
  const state = createOutageState();
  state.limitBy503.isLimit = options.wasLimitedBy503 ?? false;
  let inFlight = 0;
  const waiting = createWaitQueue();
  /** Ends the sleep before the next check; undefined while no caller waits. */
  let looking: AbortController | undefined;

  /** Checks and books in one turn of the event loop, so that no two callers make the same probe. */
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
    const turn = waiting.wait(signal);
    if (!looking) void lookAgain();
    try {
      await turn;
    } finally {
      restIfAlone();
    }
  }

  function letThrough(): void {
    while (waiting.length > 0 && tryPass()) waiting.wakeNext();
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

  function judge({ isFailure, isRefused, sentAtMs, isEvidence }: CallVerdict): void {
    const isLimit = isRefused && state.limitBy503.isLimit;
    // During an outage the result of a probe counts, whatever the domain.
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
