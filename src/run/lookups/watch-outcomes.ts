import { createFailedShare } from '../../guard/failed-share.ts';
import type { Job } from '../../job/job.ts';
import type { Reply } from '../../queue/lookup-queue.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { RecentOutcomes } from '../../watch/recent-outcomes.ts';

interface WatchOutcomesOptions {
  readonly job: { readonly settings: Pick<Job['settings'], 'maxFailed'> };
  readonly store: Pick<OutcomeStore, 'findHead'>;
  readonly recent: RecentOutcomes;
}

/**
 * Stops a run when too many lookups fail. A domain that failed in the last run too is left out of the
 * share: counted as a success, it would make room for new failures.
 */
export function watchOutcomes(
  collect: Reply,
  { job, store, recent }: WatchOutcomesOptions,
  stop: () => void,
): Reply {
  const share = createFailedShare(job.settings.maxFailed);
  return (outcomes) => {
    for (const outcome of outcomes) {
      recent.note(outcome);
      const { domain, status } = outcome;
      if (status === 'pending') continue;
      const isFailure = status === 'failed';
      if (isFailure && store.findHead(domain)?.status === 'failed') continue;
      // Now, because more domains would be asked until this outcome is stored.
      if (share.add(isFailure)) stop();
    }
    return collect(outcomes);
  };
}
