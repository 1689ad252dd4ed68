import type { SharedTurnstile } from '../pace/shared/turnstile.ts';
import type { OutageGate } from './outage-gate.ts';

/**
 * The circuit breaker of all workers together. The decision to start is made where start times are
 * given out, in the shared turnstile.
 */
export function createSharedOutageGate(turnstile: SharedTurnstile): OutageGate {
  const isOut = (): boolean => ['open', 'probing'].includes(turnstile.outage.phase);
  return {
    tryPass: () => true,
    pass: async () => {},
    ended: (verdict) => {
      if (!verdict) return;
      const { sentAtMs, isFailure, isRefused, isEvidence } = verdict;
      // During an outage the result of a probe counts, whatever the domain.
      const isLimit = isRefused && turnstile.outage.limitBy503.isLimit;
      if (isFailure && !isLimit && turnstile.outage.phase === 'closed' && !isEvidence()) return;
      turnstile.reportHealth({ sentAtMs, isFailure, isRefused });
    },
    get isOut() {
      return isOut();
    },
    get isLimitedBy503() {
      return turnstile.outage.limitBy503.isLimit;
    },
    describe: turnstile.describeOutage,
  };
}
