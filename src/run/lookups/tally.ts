import type { OutcomeStatus } from '../../brand/outcome.ts';
import type { KeptOutcome } from '../../collector/collect.ts';
import type { CallCounters } from '../../worker/call.ts';

/** What the outcomes of a run add up to so far. */
export interface Tally {
  readonly add: (kept: KeptOutcome) => void;
  /** A domain that has failed is asked once more: what comes of it counts instead. */
  readonly again: (domain: string) => void;
  /** Whether a domain is on its way once more. */
  readonly isAgain: (domain: string) => boolean;
  /** Outcomes that are kept. */
  readonly done: number;
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** Rows whose domains have those outcomes. */
  readonly rows: Readonly<Record<OutcomeStatus, number>>;
  /** Calls as far as the outcomes tell of them, whoever made them. */
  readonly counters: Readonly<CallCounters>;
}

/** @param rowsOf how many rows have a domain */
export function createTally(rowsOf: (domain: string) => number): Tally {
  const outcomes = { found: 0, not_found: 0, rejected: 0, failed: 0 };
  const rows = { ...outcomes };
  const counters: CallCounters = { calls: 0, retries: 0, throttled: 0 };
  /** Only those on their way. */
  const again = new Set<string>();
  let done = 0;
  return {
    add: ({ domain, status, attempts, throttled = 0 }) => {
      const domainRows = rowsOf(domain);
      if (again.delete(domain)) {
        outcomes.failed -= 1;
        rows.failed -= domainRows;
      } else done += 1;
      outcomes[status] += 1;
      rows[status] += domainRows;
      counters.calls += attempts + throttled;
      counters.retries += Math.max(0, attempts - 1);
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
