import { createFailedShare } from '../../guard/failed-share.ts';
import type { Reply } from '../../queue/lookup-queue.ts';
import type { RecentOutcomes } from '../../watch/recent-outcomes.ts';
import type { LookUpAllOptions } from './look-up-options.ts';

/** Stops a run of which too much fails. What failed in the run before and does again is no news. */
export function watchOutcomes(
  collect: Reply,
  {
    job,
    store,
    recent,
  }: Pick<LookUpAllOptions, 'job' | 'store'> & { readonly recent: RecentOutcomes },
  stop: () => void,
): Reply {
  const share = createFailedShare(job.settings.maxFailed);
  return (outcomes) => {
    for (const outcome of outcomes) {
      recent.note(outcome);
      const { domain, status } = outcome;
      const isNews = status === 'failed' && store.findHead(domain)?.status !== 'failed';
      // At once: until this outcome is stored, others would be asked.
      if (share.add(isNews)) stop();
    }
    return collect(outcomes);
  };
}
