import type { Progress } from './events.ts';
import type { WaitsSummary } from './summary.ts';

/** Waits that are known only from sampling them again and again. */
export interface WaitSamples {
  /** Counts what holds now as having held since the last sample. */
  look(now: Pick<Progress, 'pace' | 'elapsedMs'> & { readonly isOut: boolean }): void;
  readonly waitedMs: Readonly<Omit<WaitsSummary, 'retryBudget'>>;
}

export function createWaitSamples(): WaitSamples {
  const waitedMs = { told: 0, backingOff: 0, outage: 0 };
  let lookedAtMs = 0;
  return {
    look: ({ pace, elapsedMs, isOut }) => {
      const lastedMs = elapsedMs - lookedAtMs;
      lookedAtMs = elapsedMs;
      if (pace?.why === 'told_to_wait') waitedMs.told += lastedMs;
      if (pace?.why === 'backing_off') waitedMs.backingOff += lastedMs;
      if (isOut) waitedMs.outage += lastedMs;
    },
    waitedMs,
  };
}

/**
 * What keeps all calls from starting: somebody paused them, the API is out, or it asked to wait (a
 * 429 counts).
 */
export type HoldUp = 'paused' | 'outage' | 'told';

/** For how long calls were held up within a span of time, in milliseconds, by cause. */
type HeldMs = Readonly<Record<HoldUp, number>>;

/** The part of a run's progress that shows a hold-up. */
interface Held {
  readonly isPaused?: boolean;
  readonly outage?: string | undefined;
  readonly pace?: { readonly why: string } | undefined;
}

/** Finds what holds calls up now. While somebody has paused them, nothing else is to blame. */
export function findHoldUp({ isPaused = false, outage, pace }: Held): HoldUp | undefined {
  if (isPaused) return 'paused';
  if (outage !== undefined) return 'outage';
  return pace?.why === 'told_to_wait' || pace?.why === 'backing_off' ? 'told' : undefined;
}

/** A shorter hold-up, as a share of its span, cannot be seen in a chart. */
const LEAST_SHARE = 0.2;

/** The hold-up that lasted longest within a span, if it is long enough to be seen. */
export function findLongestHoldUp(heldMs: HeldMs, spanMs: number): HoldUp | undefined {
  const holdUps = ['paused', 'outage', 'told'] as const;
  const longest = holdUps.reduce((one, other) => (heldMs[other] > heldMs[one] ? other : one));
  return heldMs[longest] > 0 && heldMs[longest] >= LEAST_SHARE * spanMs ? longest : undefined;
}
