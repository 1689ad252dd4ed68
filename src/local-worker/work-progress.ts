import type { OutcomeStatus } from '../brand/outcome.ts';
import type { Closable } from '../common/closer.ts';
import type { Reply } from '../queue/lookup-queue.ts';
import type { WorkProgress } from '../watch/events.ts';
import type { LocalWorker } from './local-worker.ts';

/** Reports the progress of a worker. */
export interface WorkTeller extends Closable {
  /** Wraps a reply so that its outcomes are counted. */
  count(reply: Reply): Reply;
}

const TELL_MS = 250;

/** Reports progress a few times a second until it is closed. */
export function startTellingWork(
  { counters, turnstile, describeOutage }: LocalWorker,
  onProgress: (progress: WorkProgress) => void,
): WorkTeller {
  const startMs = performance.now();
  const outcomes: Record<OutcomeStatus, number> = {
    found: 0,
    not_found: 0,
    rejected: 0,
    failed: 0,
    pending: 0,
  };
  const tell = (): void =>
    onProgress({
      outcomes: { ...outcomes },
      ...counters,
      elapsedMs: performance.now() - startMs,
      waitMs: turnstile.waitMs(),
      pace: turnstile.describe(),
      outage: describeOutage(),
    });
  const ticker = setInterval(tell, TELL_MS);
  return {
    count: (reply) => (replied) => {
      for (const { status } of replied) outcomes[status] += 1;
      return reply(replied);
    },
    close: async () => {
      clearInterval(ticker);
      tell();
    },
  };
}
