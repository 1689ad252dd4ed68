import type { CallCounters } from '../../common/calls.ts';
import { billOf } from '../../common/format.ts';
import type { Parking } from '../../queue/parking.ts';
import { PROGRESS_MS, type Progress } from '../../watch/events.ts';
import type { LocalWorker } from '../local-worker.ts';
import type { LookingUp } from './looking-up.ts';

interface ProgressOptions {
  /** Calls so far, by any worker. */
  readonly counters: () => CallCounters;
  /** The parts that make them, once they are open. */
  readonly lookups: () =>
    | {
        readonly local: Pick<LocalWorker, 'gate'>;
        readonly parking: Pick<Parking, 'count' | 'untilMs'>;
      }
    | undefined;
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
  /** Stops the regular reports. */
  end(): void;
}

/** Reports progress a few times a second until it is ended. */
export function startReportingProgress(
  run: Pick<LookingUp, 'plan' | 'tally' | 'outstanding' | 'isAlone' | 'context' | 'job' | 'now'>,
  { counters, lookups }: ProgressOptions,
): ProgressReporter {
  const { plan, tally, outstanding, context, job } = run;
  const unit = job.endpoint.profile?.billing?.unit;
  const startMs = performance.now();

  function read(): Progress {
    const { local, parking } = lookups() ?? {};
    const pace = local?.gate.describe();
    const { count: pendingNow = 0, untilMs = 0 } = parking ?? {};
    const isAllPending = pendingNow > 0 && pendingNow === outstanding.size;
    const { calls, retries, throttled, billedMicros } = counters();
    return {
      due: plan.lookups,
      lookups: tally.done,
      outcomes: { ...tally.outcomes },
      rowsSoFar: rowsOf(run),
      calls,
      retries,
      throttled,
      bill: unit === undefined ? undefined : billOf(billedMicros, unit),
      lookupMs: performance.now() - startMs,
      pace,
      hasNoWorker: run.isAlone && outstanding.size > 0,
      underWay: outstanding.size,
      pendingNow,
      pendingWaitMs: isAllPending ? untilMs - run.now() : undefined,
    };
  }

  function tell(progress: Progress = read()): void {
    context.onEvent({ type: 'progress', ...progress });
  }

  const ticker = setInterval(tell, PROGRESS_MS);
  return {
    reportEnd: (isStopped) => {
      const rows = rowsOf(run);
      // Outcomes that an earlier run had stored, and left on a queue, come twice.
      const left = Math.max(
        0,
        Object.values(rows).reduce((sum, count) => sum - count, plan.rows),
      );
      const ended = isStopped
        ? { rowsSoFar: { ...rows, skipped: left } }
        : { rowsSoFar: { ...rows, fresh: rows.fresh + left }, lookups: plan.lookups };
      tell({ ...read(), ...ended });
    },
    elapsedMs: () => performance.now() - startMs,
    end: () => clearInterval(ticker),
  };
}

function rowsOf({ plan, tally }: Pick<LookingUp, 'plan' | 'tally'>) {
  const { invalidRows: invalid, freshRows: fresh } = plan;
  return { invalid, fresh, skipped: 0, ...tally.rows };
}
