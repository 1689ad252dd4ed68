import type { Clock } from './clock.ts';
import type { Turnstile } from './turnstile.ts';

/** For how long no call could start, in milliseconds of the clock on the wall, by why. */
export interface GateWaits {
  /** The API named the time. */
  readonly told: number;
  /** It answered 429 and named none. */
  readonly backingOff: number;
}

/** A turnstile, and what came of it. */
export interface WaitMeter {
  /** Does what the turnstile given does. */
  readonly turnstile: Turnstile;
  /** Until now. */
  readonly waitedMs: () => GateWaits;
}

/** A gate that is closed for less more or less was not moved. */
const JITTER_MS = 1;

/**
 * Measures for how long the gate is closed, from each report that closes it to the time it opens.
 * However many callers wait in front of it, it is counted once.
 */
export function createWaitMeter(turnstile: Turnstile, clock: Clock): WaitMeter {
  const totalMs = { told: 0, backingOff: 0 };
  let why: keyof GateWaits = 'told';
  let fromMs = clock.nowMs();
  let untilMs = fromMs;

  // A wait may be left from an earlier run.
  if (turnstile.describe().why === 'told_to_wait') note(turnstile.waitMs());

  function note(closedMs: number): void {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs + closedMs - untilMs) < JITTER_MS) return;
    totalMs[why] += lastedMs(nowMs);
    why = turnstile.describe().why === 'backing_off' ? 'backingOff' : 'told';
    fromMs = nowMs;
    untilMs = nowMs + closedMs;
  }

  function lastedMs(nowMs: number): number {
    return Math.max(0, Math.min(nowMs, untilMs) - fromMs);
  }

  return {
    turnstile: {
      ...turnstile,
      report: (outcome) => {
        const closedMs = turnstile.report(outcome);
        if (closedMs > 0) note(closedMs);
        return closedMs;
      },
    },
    waitedMs: () => ({ ...totalMs, [why]: totalMs[why] + lastedMs(clock.nowMs()) }),
  };
}
