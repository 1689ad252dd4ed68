import { isAnswer, type Outcome } from '../calls/outcome.ts';
import type { Dated } from '../store/freshness.ts';
import type { OutcomeStore } from '../store/store.ts';

/** What a row gets from the store. */
export interface RowAnswer {
  /** The outcome of its domain that counts in this run. */
  readonly outcome?: Outcome | undefined;
  /**
   * The older answer whose values it keeps, when this run learned nothing about its domain and there is
   * such an answer.
   */
  readonly older?: Outcome | undefined;
}

export type RowAnswers = (domain: string) => RowAnswer;

export interface RowAnswersOptions {
  readonly store: Pick<OutcomeStore, 'find' | 'findAnswer'>;
  /** Whether an outcome counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
  /** Whether an older answer stands in for a missing one. */
  readonly keepsStale: boolean;
}

/**
 * An outage must not empty rows that were full yesterday. So where a lookup failed or was not made,
 * the latest answer that found something stays, as long as the API has not said since then that it
 * no longer knows the domain.
 */
export function createRowAnswers({ store, isUsable, keepsStale }: RowAnswersOptions): RowAnswers {
  return (domain) => {
    const latest = store.find(domain);
    const outcome = latest && isUsable(domain, latest) ? latest : undefined;
    if (!keepsStale || (outcome && isAnswer(outcome.status))) return { outcome };
    const older = store.findAnswer(domain);
    return { outcome, older: older?.status === 'found' ? older : undefined };
  };
}
