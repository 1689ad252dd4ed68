import type { Reply } from '../calls/lookup-queue.ts';
import type { Outcome } from '../calls/outcome.ts';
import type { OutcomeStore } from '../store/store.ts';
import { recordKey } from './same-records.ts';

export interface CollectorOptions {
  readonly store: Pick<OutcomeStore, 'put'>;
  /** Domains under way. An outcome removes its domain. */
  readonly outstanding: Set<string>;
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The present time of this run, in milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Whether an outcome that cannot be stored is kept elsewhere until it is. Otherwise it counts as
   * kept in memory, for the outputs of this run. @default true
   */
  readonly isKeptElsewhere?: boolean;
  /** Called for every outcome that is stored, once per domain. */
  readonly onOutcome: (kept: KeptOutcome) => void;
}

/** The parts of an outcome that are reported, without its answer. */
export interface KeptOutcome
  extends Pick<Outcome, 'domain' | 'status' | 'attempts' | 'calls' | 'throttled' | 'billedMicros'> {
  /** Tells whether two domains have the same record; undefined where there is none. */
  readonly record: number | undefined;
}

/** Writes outcomes to the store. Resolves when they are stored for good. */
export function createCollector(options: CollectorOptions): Reply {
  const { store, outstanding, startedAtMs, now, onOutcome, isKeptElsewhere = true } = options;
  let batch: Batch | undefined;

  // Outcomes must not be held while they are written: hundreds wait at any time, and objects that
  // survive a few milliseconds are costly to collect. So no function that holds an outcome awaits.
  function keep(outcome: Outcome): Promise<void> {
    // If a clock was set back, or the fetching machine's clock differs, an outcome of this run must
    // not look older than the run, nor as if it came from the future.
    const fetchedAtMs = Math.max(startedAtMs, Math.min(outcome.fetchedAtMs, now()));
    const dated = fetchedAtMs === outcome.fetchedAtMs ? outcome : { ...outcome, fetchedAtMs };
    const written = store.put(dated);
    if (batch?.written !== written) batch = openBatch(written);
    const { domain, status, attempts, calls, throttled = 0, billedMicros } = outcome;
    batch.kept.push({
      domain,
      status,
      attempts,
      calls,
      throttled,
      billedMicros,
      record: status === 'found' ? recordKey(outcome.json) : undefined,
    });
    return batch.reported;
  }

  function openBatch(written: Promise<void>): Batch {
    const kept: KeptOutcome[] = [];
    return { written, kept, reported: tell(written, kept) };
  }

  async function tell(written: Promise<void>, kept: readonly KeptOutcome[]): Promise<void> {
    try {
      await written;
    } catch (error) {
      if (isKeptElsewhere) throw error;
    }
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

/** Outcomes that are written and reported together. A promise for each would cost more. */
interface Batch {
  readonly written: Promise<void>;
  readonly reported: Promise<void>;
  readonly kept: KeptOutcome[];
}

async function allOf(kept: readonly Promise<void>[]): Promise<void> {
  await Promise.all(kept);
}
