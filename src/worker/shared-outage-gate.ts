import type { SharedTurnstile } from '../pace/shared/turnstile.ts';
import type { OutageGate } from './outage-gate.ts';

/** The circuit breaker of all workers together: who may start is decided where start times are given out. */
export function createSharedOutageGate(turnstile: SharedTurnstile): OutageGate {
  const isOut = (): boolean => ['open', 'probing'].includes(turnstile.outagePhase);
  return {
    tryPass: () => true,
    pass: async () => {},
    ended: (verdict) => {
      if (!verdict) return;
      const { sentAtMs, isFailure, isRefused, isEvidence } = verdict;
      // Once it is out, what a probe meets counts, whatever the domain.
      const isLimit = isRefused && turnstile.isLimitedBy503;
      if (isFailure && !isLimit && turnstile.outagePhase === 'closed' && !isEvidence()) return;
      turnstile.reportHealth({ sentAtMs, isFailure, isRefused });
    },
    get isOut() {
      return isOut();
    },
    get isLimitedBy503() {
      return turnstile.isLimitedBy503;
    },
    describe: turnstile.describeOutage,
  };
}
