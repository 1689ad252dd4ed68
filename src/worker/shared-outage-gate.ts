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
      const { sentAtMs, isFailure, isEvidence } = verdict;
      // Once it is out, what a probe meets counts, whatever the domain.
      if (isFailure && turnstile.outagePhase === 'closed' && !isEvidence()) return;
      turnstile.reportHealth({ sentAtMs, isFailure });
    },
    get isOut() {
      return isOut();
    },
    describe: turnstile.describeOutage,
  };
}
