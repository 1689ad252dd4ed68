import type { Clock } from './clock.ts';
import { bookStart, createPaceState, nextStartMs, onAccepted, onThrottle } from './pacer.ts';
import type { Rate } from './rate.ts';

/** Lets calls start when the pacer says so, in the order in which they came. */
export interface Turnstile {
  /**
   * Waits until one call may start. Whoever gets through has to make that call.
   *
   * @throws the signal's reason when it fires first
   */
  enter(signal: AbortSignal): Promise<void>;
  /** Reports an answer other than 429. */
  accepted(): void;
  /** Reports a 429 and closes the way for all; returns for how many milliseconds. */
  throttled(report: { sentAtMs: number; retryAfterMs: number | undefined }): number;
  /** How long nobody will get through, in milliseconds; 0 when the way is open. */
  waitMs(): number;
}

export interface TurnstileOptions {
  /** A fixed rate that is never exceeded. Without one, only throttles hold calls back. */
  readonly rate?: Rate | undefined;
  readonly clock: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** Keeps the pacer's state in this process. */
export function createTurnstile({
  rate,
  clock,
  random = Math.random,
}: TurnstileOptions): Turnstile {
  const state = createPaceState(rate);
  let lastInLine: Promise<void> = Promise.resolve();
  let inLine = 0;

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // Checked and booked in one turn of the event loop: no two callers take the same slot.
    if (inLine === 0 && tryEnter()) return;
    inLine += 1;
    const before = lastInLine;
    const turn = waitForTurn(before, signal);
    lastInLine = turn.catch(() => {}); // who gives up does not hold up those behind
    try {
      await turn;
    } finally {
      inLine -= 1;
    }
  }

  async function waitForTurn(before: Promise<void>, signal: AbortSignal): Promise<void> {
    await before;
    signal.throwIfAborted();
    while (!tryEnter()) {
      // The gate may have moved while asleep, so the question is asked again.
      await clock.sleep(Math.max(1, nextStartMs(state) - clock.nowMs()), signal);
    }
  }

  function tryEnter(): boolean {
    const nowMs = clock.nowMs();
    if (nowMs < nextStartMs(state)) return false;
    bookStart(state, nowMs);
    return true;
  }

  return {
    enter,
    accepted: () => onAccepted(state),
    throttled: (report) => {
      const nowMs = clock.nowMs();
      onThrottle(state, { ...report, nowMs, random: random() });
      return Math.max(0, state.gateUntilMs - nowMs);
    },
    waitMs: () => Math.max(0, nextStartMs(state) - clock.nowMs()),
  };
}
