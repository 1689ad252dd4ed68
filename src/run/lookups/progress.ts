import type { OutcomeStatus } from '../../brand/outcome.ts';
import type { KeptOutcome } from '../../collector/collect.ts';
import type { Plan } from '../../collector/plan.ts';
import { addCallsOf, type CallCounters, createCallCounters } from '../../common/calls.ts';
import { billOf } from '../../common/format.ts';
import type { RunControl } from '../../common/run-control.ts';
import type { Parking } from '../../queue/parking.ts';
import { PROGRESS_MS, type Progress, type RunEvent } from '../../watch/events.ts';
import type { LocalWorker } from '../local-worker.ts';

export interface ProgressOptions {
  readonly plan: Pick<Plan, 'rows' | 'invalidRows' | 'freshRows' | 'lookups'>;
  readonly tally: Tally;
  readonly outstanding: ReadonlySet<string>;
  /** Calls so far, by any worker. */
  readonly counters: () => CallCounters;
  /** The worker of this process, once it is open. */
  readonly local: () => LocalWorker | undefined;
  /** Lookups that are pending. */
  readonly parking: () => Pick<Parking, 'count' | 'untilMs'> | undefined;
  /** Whether lookups wait on a queue that has no worker. */
  readonly isAlone: () => boolean;
  readonly control?: RunControl | undefined;
  /** What the API bills in, if its profile says so. */
  readonly unit?: string | undefined;
  readonly onEvent: (event: RunEvent) => void;
}

/** Reports the progress of a run's lookups. */
export interface ProgressReporter {
  /**
   * Reports the final state.
   *
   * @param isStopped whether the remaining lookups were not made
   */
  reportEnd(isStopped: boolean): void;
  /** The time since the first lookup, in milliseconds. */
  readonly elapsedMs: () => number;
  /** Stops reports, and the time, until the function that it returns is called. */
  hold(): () => void;
  /** Stops the regular reports. */
  end(): void;
}

/** Reports progress a few times a second until it is ended. */
export function startReportingProgress(options: ProgressOptions): ProgressReporter {
  const { plan, tally, outstanding, counters, local, onEvent } = options;
  let startMs = performance.now();
  let isHeld = false;

  function read(): Progress {
    const pace = local()?.gate.describe();
    const { count: pendingNow = 0, untilMs = 0 } = options.parking() ?? {};
    return {
      due: plan.lookups,
      lookups: tally.done,
      outcomes: { ...tally.outcomes },
      rowsSoFar: rowsOf(options),
      ...sums(),
      lookupMs: performance.now() - startMs,
      pace,
      outage: pace?.outage,
      isPaused: options.control?.isPaused ?? false,
      hasNoWorker: options.isAlone(),
      underWay: outstanding.size,
      pendingNow,
      pendingUntilMs: pendingNow > 0 && untilMs > 0 ? untilMs : undefined,
    };
  }

  function sums(): Pick<Progress, 'calls' | 'retries' | 'throttled' | 'bill'> {
    const { calls, retries, throttled, billedMicros } = counters();
    const bill = options.unit === undefined ? undefined : billOf(billedMicros, options.unit);
    return { calls, retries, throttled, bill };
  }

  function tell(progress: Progress = read()): void {
    onEvent({ type: 'progress', ...progress });
  }

  const ticker = setInterval(() => {
    if (!isHeld) tell();
  }, PROGRESS_MS);
  return {
    reportEnd: (isStopped) => {
      const rows = rowsOf(options);
      const left = Object.values(rows).reduce((sum, count) => sum - count, plan.rows);
      const ended = isStopped
        ? { rowsSoFar: { ...rows, skipped: left } }
        : { rowsSoFar: { ...rows, fresh: rows.fresh + left }, lookups: plan.lookups };
      tell({ ...read(), ...ended });
    },
    elapsedMs: () => performance.now() - startMs,
    hold: () => {
      tell();
      isHeld = true;
      const heldMs = performance.now();
      return () => {
        isHeld = false;
        startMs += performance.now() - heldMs;
      };
    },
    end: () => clearInterval(ticker),
  };
}

function rowsOf({ plan, tally }: ProgressOptions) {
  const { invalidRows: invalid, freshRows: fresh } = plan;
  return { invalid, fresh, skipped: 0, ...tally.rows };
}

/** The sums of a run's outcomes so far. */
export interface Tally {
  readonly add: (kept: KeptOutcome) => void;
  /** Adds the calls of an outcome whose lookup is asked again. */
  readonly addParked: (
    outcome: Pick<KeptOutcome, 'attempts' | 'throttled' | 'billedMicros'>,
  ) => void;
  /** Adds calls that no outcome reports. */
  readonly addUnreported: (calls: Omit<CallCounters, 'retries'>) => void;
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
  let done = 0;
  return {
    add: (kept) => {
      const { domain, status } = kept;
      done += 1;
      outcomes[status] += 1;
      rows[status] += rowsOf(domain);
      addCallsOf(kept, counters);
    },
    addParked: (outcome) => addCallsOf(outcome, counters),
    addUnreported: ({ calls, throttled, billedMicros }) => {
      counters.calls += calls;
      counters.throttled += throttled;
      counters.billedMicros += billedMicros;
    },
    get done() {
      return done;
    },
    outcomes,
    rows,
    counters,
  };
}
