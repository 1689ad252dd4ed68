import { sentenceOn } from '../common/reasons.ts';
import { STATUSES, type StatusName, upperFirst } from './words.ts';

/** What the outcome of a row means, and what to do about it, in a sentence or two. */
export function adviseOn({ status, reason, httpStatus = 0 }: Reasoned): string {
  if (status === 'pending') return 'The API is still finding out: the next run asks again.';
  const means = sentenceOn(reason);
  if (status !== 'failed' && status !== 'stale') {
    return means ?? upperFirst(`${STATUSES[status].means}.`);
  }
  const unknown =
    httpStatus >= 500 ? 'The API had a fault of its own each time.' : 'No usable answer came.';
  const kept = status === 'stale' ? ' These rows keep an older answer.' : '';
  return `${means ?? unknown} The next run tries again.${kept}`;
}

/** The part of an outcome that says why. */
interface Reasoned {
  readonly status: StatusName;
  readonly reason: string;
  readonly httpStatus?: number | undefined;
}
