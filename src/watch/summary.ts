import { EXIT } from '../common/errors.ts';
import type { RunView, StatusCounts, Summary } from './run-view.ts';

export type { StatusCounts, Summary } from './run-view.ts';
export type LogosSummary = NonNullable<Summary['logos']>;
export type CallsPerSummary = NonNullable<Summary['callsPer']>;

/** Counts of zero for all statuses. */
export function createStatusCounts(): StatusCounts {
  const ofAnswers = { found: 0, stale: 0, not_found: 0, rejected: 0, failed: 0 };
  return { ...ofAnswers, pending: 0, invalid: 0, skipped: 0 };
}

/** The number of rows over all statuses. */
export function sumOf(statuses: Readonly<StatusCounts>): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}

type Ended = Pick<Summary, 'statuses'> & Partial<Pick<Summary, 'stopped' | 'calls'>>;

/** How a run ended, in a word. */
export function endOf({ statuses, stopped, calls = 0 }: Ended): NonNullable<RunView['end']> {
  if (stopped) return stopped.reason === 'interrupted' ? 'interrupted' : 'stopped';
  // Rows are skipped without a stop when their outcomes were removed from the store meanwhile.
  const { failed, stale, pending, skipped } = statuses;
  if (failed + stale + pending + skipped > 0) return 'some_failed';
  return findNothing({ statuses, calls }) ? 'nothing_found' : 'done';
}

/**
 * Why a run was for nothing, if it was: `no_domain` when every row is invalid, `no_answer` when
 * calls were made and no row is found, not even with an earlier answer. Lists have such rows; a
 * list of nothing else speaks of a wrong column or a wrong API, and somebody should look.
 */
export function findNothing({
  statuses,
  calls,
}: Pick<Summary, 'statuses' | 'calls'>): 'no_domain' | 'no_answer' | undefined {
  const rows = sumOf(statuses);
  if (rows === 0) return undefined;
  if (statuses.invalid === rows) return 'no_domain';
  const { not_found, rejected, invalid } = statuses;
  return calls > 0 && not_found + rejected + invalid === rows ? 'no_answer' : undefined;
}

/** The exit code of a run; of a trial of one domain without `calls`: not known is then the answer. */
export function exitCodeOf(run: Ended): number {
  const end = endOf(run);
  if (end === 'done') return EXIT.ok;
  return end === 'stopped' || end === 'interrupted' ? EXIT[end] : EXIT.someFailed;
}
