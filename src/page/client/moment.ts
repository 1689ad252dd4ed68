import type { RunView } from '../../watch/run-view.ts';
import { ENDINGS, PHASES } from '../../watch/words.ts';
import { costOf } from './format.ts';
import type { link } from './state.ts';

// What is true of a run at this moment, in words.

type Link = typeof link.value;

/** Where a run is. */
export function phaseOf({
  isPaused,
  phase,
  end,
}: Pick<RunView, 'isPaused' | 'phase' | 'end'>): string {
  if (isPaused) return 'Paused';
  return end ? ENDINGS[end] : PHASES[phase];
}

/** Whether this page may be closed, as it is at this moment. */
export function closing(
  { phase, isPaused }: Pick<RunView, 'phase' | 'isPaused'>,
  link: Link,
): string {
  if (link !== 'live') return 'What you see is from before: this page does not hear of the run.';
  if (isPaused) return 'It is paused, also when you close this page, until somebody lets it go on.';
  if (phase === 'ended') return 'One moment: the result is being read.';
  if (phase === 'stopping') return 'It stops: calls under way end, then the rows are written.';
  return 'You may close this page: it goes on, and is here when you come back.';
}

/** Whether running it again would ask for more. */
export function canGoOn({
  phase,
  end,
  statuses,
}: Pick<RunView, 'phase' | 'end' | 'statuses'>): boolean {
  const { failed, pending, skipped, stale } = statuses;
  return (
    phase === 'lost' ||
    end === 'error' ||
    end === 'interrupted' ||
    failed + pending + skipped + stale > 0
  );
}

type Priced = Pick<RunView, 'calls' | 'cost' | 'currency' | 'bill'>;

/** Who presses it has read what it may cost. */
export function startOf(plan: Priced, most = Infinity): string {
  const { cost, currency, bill, calls } = plan;
  const part = calls === 0 ? 0 : Math.min(1, most / calls);
  const paid = costOf({
    cost: cost && cost * part,
    currency,
    bill: bill && { ...bill, units: Math.ceil(bill.units * part) },
  });
  return paid === undefined ? 'Start' : `Start, for about ${paid}`;
}
