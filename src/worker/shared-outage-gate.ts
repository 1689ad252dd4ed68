import type { SharedTurnstile } from '../pace/shared/turnstile.ts';
import type { OutageGate } from './outage-gate.ts';

/** The circuit breaker of all workers together: who may start is decided where start times are given out. */
export function createSharedOutageGate(turnstile: SharedTurnstile): OutageGate {
  const isOut = (): boolean => ['open', 'probing'].includes(turnstile.outage.phase);
  return {
    tryPass: () => true,
    pass: async () => {},
    ended: (verdict) => {
      if (!verdict) return;
      const { sentAtMs, isFailure, isRefused, isEvidence } = verdict;
      // Once it is out, what a probe meets counts, whatever the domain.
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
