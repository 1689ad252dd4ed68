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
