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
  /** What is going on, in a sentence; undefined when all is well. */
  readonly describe: () => string | undefined;
}

export interface CallVerdict {
  readonly sentAtMs: number;
  readonly isFailure: boolean;
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
}

/** While it waits for others, it looks again after this time, should one of them never come back. */
const LOOK_AGAIN_MS = 1_000;

/** Keeps the state of the circuit breaker in this process. */
export function createOutageGate(options: OutageGateOptions): OutageGate {
  const { clock, callers, maxOutageMs, onTooLong } = options;
  const state = createOutageState();
  let inFlight = 0;
  let wakeAll: (() => void)[] = [];

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
    while (!tryPass()) {
      const nowMs = clock.nowMs();
      if (outageMs(state, nowMs) > maxOutageMs) onTooLong();
      signal.throwIfAborted();
      const change = new Promise<void>((resolve) => wakeAll.push(resolve));
      await Promise.race([change, clock.sleep(LOOK_AGAIN_MS, signal)]);
    }
  }

  function judge({ sentAtMs, isFailure, isEvidence }: CallVerdict): void {
    // Once it is out, what a probe meets counts, whatever the domain.
    if (isFailure && state.phase === 'closed' && !isEvidence()) return;
    onCallEnd(state, { sentAtMs, isFailure, nowMs: clock.nowMs() });
  }

  return {
    tryPass,
    pass,
    ended: (verdict) => {
      inFlight -= 1;
      if (verdict) judge(verdict);
      else onCallAbandoned(state, clock.nowMs());
      const woken = wakeAll;
      wakeAll = [];
      for (const wake of woken) wake();
    },
    get isOut() {
      return state.phase === 'open' || state.phase === 'probing';
    },
    describe: () => describeOutage(state, clock.nowMs()),
  };
}
