import { findJsonObject } from '../brand/answer.ts';
import type { Outcome, OutcomeStatus } from '../brand/outcome.ts';
import type { Reply } from '../queue/lookup-queue.ts';
import type { OutcomeStore } from '../store/store.ts';
import { shapeOf } from './flatten.ts';

export interface CollectorOptions {
  readonly store: OutcomeStore;
  /** Domains on their way; an outcome takes its domain out. */
  readonly outstanding: Set<string>;
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Called for every outcome that is kept. */
  readonly onOutcome: (status: OutcomeStatus) => void;
}

/** Writes outcomes to the store and says when they are there for good. */
export function createCollector(options: CollectorOptions): Reply {
  const { store, outstanding, startedAtMs, onOutcome } = options;

  async function keep(outcome: Outcome): Promise<void> {
    const answer = outcome.value ?? findJsonObject(outcome.json);
    // A clock that was set back must not make what this run fetched look older than the run.
    const fetchedAtMs = Math.max(outcome.fetchedAtMs, startedAtMs);
    await store.put({ ...outcome, fetchedAtMs }, answer ? shapeOf(answer) : []);
    outstanding.delete(outcome.domain);
    onOutcome(outcome.status);
  }

  return async (outcomes) => {
    await Promise.all(outcomes.map(keep));
  };
}
