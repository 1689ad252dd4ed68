import { addCallsOf, type CallCounters, createCallCounters } from '../../calls/call-counters.ts';
import { createOutcomeCounts, type OutcomeStatus } from '../../calls/outcome.ts';
import type { KeptOutcome } from '../../collector/collect.ts';
import { type SameRecord, SameRecords } from '../../collector/same-records.ts';
import { createStopSwitch, type StopSwitch } from '../../worker/stop-switch.ts';
import type { PlannedRun } from '../plan.ts';

/** A run whose lookups are being made. */
export interface LookingUp extends PlannedRun {
  /** Domains under way. */
  readonly outstanding: Set<string>;
  readonly tally: Tally;
  readonly stopSwitch: StopSwitch;
  /** Whether the store has an outcome by now that counts. */
  readonly isFresh: (domain: string) => boolean;
}

export function createLookingUp(planned: PlannedRun): LookingUp {
  const { store, domains, isUsable } = planned;
  return {
    ...planned,
    outstanding: new Set(),
    tally: createTally(domains.of),
    stopSwitch: createStopSwitch(),
    isFresh: (domain) => {
      const head = store.findHead(domain);
      return head !== undefined && isUsable(domain, head);
    },
  };
}

/** The sums of a run's outcomes so far. */
export interface Tally {
  readonly add: (kept: KeptOutcome) => void;
  /** Adds the calls of an outcome whose lookup is asked again. */
  readonly addParked: (
    outcome: Pick<KeptOutcome, 'attempts' | 'throttled' | 'billedMicros'>,
  ) => void;
  /** Notes what was spent at least, whether an outcome says so or not. */
  readonly spend: (spent: Pick<CallCounters, 'calls' | 'billedMicros'>) => void;
  /** Outcomes that are stored. */
  readonly done: number;
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** Rows whose domains have those outcomes. */
  readonly rows: Readonly<Record<OutcomeStatus, number>>;
  /** The record that most of the domains have, where several have one. */
  readonly sameRecord: SameRecord | undefined;
  /** Calls that were reported, by any worker. */
  readonly counters: Readonly<CallCounters>;
}

/** @param rowsOf how many rows have a domain */
function createTally(rowsOf: (domain: string) => number): Tally {
  const [outcomes, rows] = [createOutcomeCounts(), createOutcomeCounts()];
  const counters = createCallCounters();
  const records = new SameRecords();
  let least = { calls: 0, billedMicros: 0 };
  let done = 0;
  return {
    add: (kept) => {
      const { domain, status, record } = kept;
      done += 1;
      outcomes[status] += 1;
      rows[status] += rowsOf(domain);
      if (record !== undefined) records.add(record, domain, rowsOf(domain));
      addCallsOf(kept, counters);
    },
    addParked: (outcome) => addCallsOf(outcome, counters),
    spend: (spent) => {
      least = spent;
    },
    get done() {
      return done;
    },
    outcomes,
    rows,
    get sameRecord() {
      return records.most();
    },
    get counters() {
      return {
        ...counters,
        calls: Math.max(counters.calls, least.calls),
        billedMicros: Math.max(counters.billedMicros, least.billedMicros),
      };
    },
  };
}
