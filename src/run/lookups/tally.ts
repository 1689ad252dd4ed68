import type { OutcomeStatus } from '../../brand/outcome.ts';
import type { KeptOutcome } from '../../collector/collect.ts';
import { addCallsOf, type CallCounters, createCallCounters } from '../../common/call-counters.ts';

/** The sums of a run's outcomes so far. */
export interface Tally {
  readonly add: (kept: KeptOutcome) => void;
  /** Adds the calls of an outcome whose lookup is asked again. */
  readonly addParked: (outcome: Pick<KeptOutcome, 'attempts' | 'throttled'>) => void;
  /** Adds calls that no outcome reports. */
  readonly addUnreported: (calls: Readonly<CallCounters>) => void;
  /**
   * Notes that a failed domain is asked once more. Its new outcome replaces the old one in the
   * sums.
   */
  readonly again: (domain: string) => void;
  /** Whether a domain is under way once more. */
  readonly isAgain: (domain: string) => boolean;
  /** Outcomes that are stored. */
  readonly done: number;
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** Rows whose domains have those outcomes. */
  readonly rows: Readonly<Record<OutcomeStatus, number>>;
  /** Calls that were reported, by any worker. */
  readonly counters: Readonly<CallCounters>;
}

/** @param rowsOf how many rows have a domain */
export function createTally(rowsOf: (domain: string) => number): Tally {
  const outcomes = { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
  const rows = { ...outcomes };
  const counters = createCallCounters();
  /** Domains under way once more. */
  const again = new Set<string>();
  let done = 0;
  return {
    add: (kept) => {
      const { domain, status } = kept;
      const domainRows = rowsOf(domain);
      if (again.delete(domain)) {
        outcomes.failed -= 1;
        rows.failed -= domainRows;
      } else done += 1;
      outcomes[status] += 1;
      rows[status] += domainRows;
      addCallsOf(kept, counters);
    },
    addParked: (outcome) => addCallsOf(outcome, counters),
    addUnreported: ({ calls, retries, throttled }) => {
      counters.calls += calls;
      counters.retries += retries;
      counters.throttled += throttled;
    },
    again: (domain) => void again.add(domain),
    isAgain: (domain) => again.has(domain),
    get done() {
      return done;
    },
    outcomes,
    rows,
    counters,
  };
}
