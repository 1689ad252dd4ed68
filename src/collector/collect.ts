import { findJsonObject } from '../brand/answer.ts';
import type { Outcome } from '../brand/outcome.ts';
import type { Reply } from '../queue/lookup-queue.ts';
import type { OutcomeStore } from '../store/store.ts';
import { createShapeFinder } from './flatten.ts';

export interface CollectorOptions {
  readonly store: OutcomeStore;
  /** Domains on their way; an outcome takes its domain out. */
  readonly outstanding: Set<string>;
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Called for every outcome that is kept, once per domain. */
  readonly onOutcome: (kept: KeptOutcome) => void;
}

/** What is told of an outcome; not its answer. */
export type KeptOutcome = Pick<Outcome, 'domain' | 'status' | 'attempts' | 'throttled'>;

/** Writes outcomes to the store and says when they are there for good. */
export function createCollector(options: CollectorOptions): Reply {
  const { store, outstanding, startedAtMs, onOutcome } = options;
  const shapeOf = createShapeFinder();

  // Outcomes are not held while they are written: hundreds wait at any time, and what survives a few
  // milliseconds is costly to clear away. So nothing that knows an outcome awaits.
  function keep(outcome: Outcome): Promise<void> {
    const answer = outcome.value ?? findJsonObject(outcome.json);
    // A clock that was set back must not make what this run fetched look older than the run.
    const dated =
      outcome.fetchedAtMs < startedAtMs ? { ...outcome, fetchedAtMs: startedAtMs } : outcome;
    const written = store.put(dated, answer ? shapeOf(answer) : []);
    const { domain, status, attempts, throttled = 0 } = outcome;
    return settle(written, { domain, status, attempts, throttled });
  }

  async function settle(written: Promise<void>, kept: KeptOutcome): Promise<void> {
    await written;
    // Outcomes may come more than once.
    if (outstanding.delete(kept.domain)) onOutcome(kept);
  }

  return (outcomes) => allOf(outcomes.map(keep));
}

async function allOf(kept: readonly Promise<void>[]): Promise<void> {
  await Promise.all(kept);
}
