import { isAnswer, type Outcome } from '../brand/outcome.ts';
import type { Dated } from '../store/freshness.ts';
import type { OutcomeStore } from '../store/store.ts';

/** What the rows of a run get from the store. */
export interface RowAnswers {
  /** The outcome of a domain that counts in this run. */
  outcomeOf(domain: string): Outcome | undefined;
  /**
   * The older answer whose values a row keeps when this run learned nothing about its domain.
   * Undefined when it learned something, or there is no such answer.
   */
  staleOf(domain: string): Outcome | undefined;
  /** The answer that fills the row's columns: the one of this run, or the older one. */
  answerOf(domain: string): Outcome | undefined;
}

export interface RowAnswersOptions {
  readonly store: Pick<OutcomeStore, 'find' | 'findHead' | 'findAnswer'>;
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
export function createRowAnswers(options: RowAnswersOptions): RowAnswers {
  const { store, isUsable, keepsStale } = options;

  function settles(domain: string, outcome: Dated | undefined): boolean {
    return outcome !== undefined && isAnswer(outcome.status) && isUsable(domain, outcome);
  }

  function staleOf(domain: string): Outcome | undefined {
    if (!keepsStale || settles(domain, store.findHead(domain))) return undefined;
    const answer = store.findAnswer(domain);
    return answer?.status === 'found' ? answer : undefined;
  }

  return {
    outcomeOf: (domain) => {
      const outcome = store.find(domain);
      return outcome && isUsable(domain, outcome) ? outcome : undefined;
    },
    staleOf,
    answerOf: (domain) => {
      const outcome = store.find(domain);
      if (outcome && settles(domain, outcome)) {
        return outcome.status === 'found' ? outcome : undefined;
      }
      return staleOf(domain);
    },
  };
}
