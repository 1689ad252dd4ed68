import type { Clock } from './clock.ts';
import type { Turnstile } from './turnstile.ts';

/** How long no call could start, in milliseconds of wall-clock time, by reason. */
export interface GateWaits {
  /** The API stated the wait. */
  readonly told: number;
  /** The API answered 429 without stating a wait. */
  readonly backingOff: number;
}

/** A turnstile whose waits are measured. */
export interface WaitMeter {
  /** Works as the wrapped turnstile does. */
  readonly turnstile: Turnstile;
  /** The waits up to now. */
  readonly waitedMs: () => GateWaits;
}

/** A closing time that differs by less is the same one. */
const JITTER_MS = 1;

/**
 * Measures how long the gate is closed, from each report that closes it until it opens. The time is
 * counted once, however many callers wait.
 */
export function createWaitMeter(turnstile: Turnstile, clock: Clock): WaitMeter {
  const totalMs = { told: 0, backingOff: 0 };
  let why: keyof GateWaits = 'told';
  let fromMs = clock.nowMs();
  let untilMs = fromMs;

  // A wait may be left over from an earlier run.
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
