import { findProxy } from '../../brand/connections.ts';
import type { OutcomeStatus } from '../../brand/outcome.ts';
import type { KeptOutcome } from '../../collector/collect.ts';
import { addCallsOf, type CallCounters, createCallCounters } from '../../common/calls.ts';
import { billOf, formatCount } from '../../common/format.ts';
import type { RunControl } from '../../common/run-control.ts';
import type { SharedPaceWatch } from '../../pace/shared/state.ts';
import type { Plan } from '../../producer/plan.ts';
import type { Parking } from '../../queue/parking.ts';
import {
  type HeldBy,
  PROGRESS_MS,
  type Progress,
  type RecentOutcomes,
  type RowProgress,
  type RunEvent,
} from '../../watch/events.ts';
import { createWaitSamples, describeOut, type WaitSamples } from '../../watch/waits.ts';
import type { LocalWorker } from '../local-worker.ts';

export interface ProgressOptions {
  readonly plan: Pick<Plan, 'rows' | 'invalidRows' | 'freshRows' | 'lookups'>;
  readonly tally: Tally;
  readonly recent: RecentOutcomes;
  readonly outstanding: ReadonlySet<string>;
  /** Calls so far, by any worker. */
  readonly counters: () => CallCounters;
  /** The worker of this process, once it is open. */
  readonly local: () => LocalWorker | undefined;
  /** The pace of other workers, when they make all calls. */
  readonly elsewhere: () => SharedPaceWatch | undefined;
  /** Lookups that are pending. */
  readonly parking: () => Pick<Parking, 'count' | 'untilMs'> | undefined;
  /** Whether lookups wait on a queue that has no worker. */
  readonly isAlone: () => boolean;
  /** Lookups that another run has under way, once only those are left to give out. */
  readonly awaited: () => number | undefined;
  /** Whether calls are reported chunk by chunk. */
  readonly comesInBursts: boolean;
  readonly control?: RunControl | undefined;
  /** Scheme, host and port of the API. */
  readonly api: string;
  /** What the API bills in, if its profile says so. */
  readonly unit?: string | undefined;
  readonly onEvent: (event: RunEvent) => void;
}

/** Reports the progress of a run's lookups. */
export interface ProgressReporter {
  /**
   * Reports the final state.
   *
   * @param isStopped whether the remaining lookups were not made; otherwise another run made them
   */
  reportEnd(isStopped: boolean): void;
  /** The time since the first lookup, in milliseconds. */
  readonly elapsedMs: () => number;
  /** The waits that regular samples have shown. */
  readonly waitedMs: WaitSamples['waitedMs'];
  /** Stops the regular reports. */
  end(): void;
}

/** Reports progress a few times a second until it is ended. */
export function startReportingProgress(options: ProgressOptions): ProgressReporter {
  const { plan, tally, recent, outstanding, counters, local, elsewhere, onEvent } = options;
  const startMs = performance.now();
  const samples = createWaitSamples();
  let wasOut = false;
  let retriesWaitedMs = 0;

  function read(): Progress {
    const pace = elsewhere() ?? local()?.limiter;
    return {
      lookups: plan.lookups,
      done: tally.done + doneElsewhere(),
      outcomes: { ...tally.outcomes },
      rows: rowsOf(options),
      ...sums(),
      elapsedMs: performance.now() - startMs,
      waitMs: pace?.waitMs() ?? 0,
      pace: pace?.describe(),
      outage: (elsewhere() ?? local())?.describeOutage(),
      isPaused: options.control?.isPaused ?? false,
      heldBy: findHolder(),
      comesInBursts: options.comesInBursts,
      underWay: outstanding.size,
      pending: readParking(),
      recentFailures: recent.failures,
      recentAnswers: recent.answers,
    };
  }

  function sums(): Pick<Progress, 'calls' | 'retries' | 'throttled' | 'bill'> {
    const { calls, retries, throttled, billedMicros } = counters();
    const bill = options.unit === undefined ? undefined : billOf(billedMicros, options.unit);
    return { calls, retries, throttled, bill };
  }

  function readParking(): Progress['pending'] {
    const { count = 0, untilMs = 0 } = options.parking() ?? {};
    return count > 0 ? { count, untilMs } : undefined;
  }

  function doneElsewhere(): number {
    const awaited = options.awaited();
    if (awaited === undefined) return 0;
    return Math.max(0, plan.lookups - tally.done - outstanding.size - awaited);
  }

  function findHolder(): HeldBy | undefined {
    const beforeMs = retriesWaitedMs;
    retriesWaitedMs = local()?.waitedMs().retryBudget ?? 0;
    if (options.isAlone()) return 'no_worker';
    if (options.awaited() && outstanding.size === 0) return 'another_run';
    return retriesWaitedMs > beforeMs ? 'retry_budget' : undefined;
  }

  function tell(progress: Progress = read()): void {
    const isOut = local()?.isOut() ?? false;
    samples.look({ ...progress, isOut });
    if (isOut !== wasOut) reportOutage(isOut, options);
    wasOut = isOut;
    onEvent({ type: 'progress', ...progress });
    recent.sample();
  }

  const ticker = setInterval(tell, PROGRESS_MS);
  return {
    reportEnd: (isStopped) => {
      const rows = rowsOf(options);
      const left = leftOf(rows);
      const ended = isStopped
        ? { rows: { ...rows, skipped: left } }
        : { rows: { ...rows, fresh: rows.fresh + left }, done: plan.lookups };
      tell({ ...read(), ...ended });
      if (!isStopped) reportOthers(options);
    },
    elapsedMs: () => performance.now() - startMs,
    waitedMs: samples.waitedMs,
    end: () => clearInterval(ticker),
  };
}

function rowsOf({ plan, tally }: ProgressOptions): RowProgress {
  const { rows: total, invalidRows: invalid, freshRows: fresh } = plan;
  return { total, invalid, fresh, skipped: 0, ...tally.rows };
}

function leftOf({ total, ...counts }: RowProgress): number {
  return Object.values(counts).reduce((left, count) => left - count, total);
}

/**
 * Reports lookups made by another run, which would otherwise seem missing compared with the plan.
 */
function reportOthers({ plan, tally, onEvent }: ProgressOptions): void {
  const count = plan.lookups - tally.done;
  if (count <= 0) return;
  const message = `Another run has looked up ${formatCount(count)} of the domains in the meantime: they were not looked up again.`;
  onEvent({ type: 'notice', message, level: 'info' });
}

/** Reported even without a progress display, because an outage may be a wrong address. */
function reportOutage(isOut: boolean, { local, api, onEvent }: ProgressOptions): void {
  const message = isOut
    ? describeOut({
        api,
        proxy: findProxy(api),
        trouble: local()?.lastTrouble(),
        statedMs: local()?.statedOutMs(),
      })
    : 'The API answers again.';
  onEvent({ type: 'notice', message, level: isOut ? 'warn' : 'info' });
}

/** The sums of a run's outcomes so far. */
export interface Tally {
  readonly add: (kept: KeptOutcome) => void;
  /** Adds the calls of an outcome whose lookup is asked again. */
  readonly addParked: (
    outcome: Pick<KeptOutcome, 'attempts' | 'throttled' | 'billedMicros'>,
  ) => void;
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
    addUnreported: ({ calls, retries, throttled, billedMicros }) => {
      // Less than none are calls of an earlier run, which its outcomes have reported to this one.
      counters.calls += Math.max(0, calls);
      counters.retries += Math.max(0, retries);
      counters.throttled += Math.max(0, throttled);
      counters.billedMicros += Math.max(0, billedMicros);
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
