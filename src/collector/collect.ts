import type { Outcome } from '../brand/outcome.ts';
import { createShapeReader } from '../brand/shape.ts';
import type { Reply } from '../queue/lookup-queue.ts';
import type { OutcomeStore } from '../store/store.ts';

export interface CollectorOptions {
  readonly store: OutcomeStore;
  /** Domains on their way; an outcome takes its domain out. */
  readonly outstanding: Set<string>;
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The time of this run, in milliseconds since 1970. */
  readonly now: () => number;
  /** Called for every outcome that is kept, once per domain. */
  readonly onOutcome: (kept: KeptOutcome) => void;
}

/** What is told of an outcome; not its answer. */
export type KeptOutcome = Pick<
  Outcome,
  'domain' | 'status' | 'attempts' | 'throttled' | 'fetchedAtMs'
>;

/** Writes outcomes to the store and says when they are there for good. */
export function createCollector(options: CollectorOptions): Reply {
  const { store, outstanding, startedAtMs, now, onOutcome } = options;
  const readShape = createShapeReader();
  let batch: Batch | undefined;

  // Outcomes are not held while they are written: hundreds wait at any time, and what survives a few
  // milliseconds is costly to clear away. So nothing that knows an outcome awaits.
  function keep(outcome: Outcome): Promise<void> {
    // A clock that was set back, or is another machine's, must not make what this run fetched look
    // older than the run, nor as if it came from the future.
    const fetchedAtMs = Math.max(startedAtMs, Math.min(outcome.fetchedAtMs, now()));
    const dated = fetchedAtMs === outcome.fetchedAtMs ? outcome : { ...outcome, fetchedAtMs };
    const written = store.put(dated, outcome.shape ?? readShape(outcome.json));
    if (batch?.written !== written) batch = openBatch(written);
    const { domain, status, attempts, throttled = 0 } = outcome;
    batch.kept.push({ domain, status, attempts, throttled, fetchedAtMs: outcome.fetchedAtMs });
    return batch.told;
  }

  function openBatch(written: Promise<void>): Batch {
    const kept: KeptOutcome[] = [];
    return { written, kept, told: tell(written, kept) };
  }

  async function tell(written: Promise<void>, kept: readonly KeptOutcome[]): Promise<void> {
    await written;
    for (const each of kept) {
      // Outcomes may come more than once.
      if (outstanding.delete(each.domain)) onOutcome(each);
    }
  }

  return (outcomes) => {
    const [only] = outcomes;
    return only && outcomes.length === 1 ? keep(only) : allOf(outcomes.map(keep));
  };
}

/** Outcomes that are written together, and told of together: a promise for each would cost more. */
interface Batch {
  readonly written: Promise<void>;
  readonly told: Promise<void>;
  readonly kept: KeptOutcome[];
}

async function allOf(kept: readonly Promise<void>[]): Promise<void> {
  await Promise.all(kept);
}
