import type { CallCounters } from '../../calls/call-counters.ts';
import { billOf, costOf, MICROS } from '../../common/format.ts';
import type { Job } from '../../profile/job.ts';
import type { Parking } from '../../queue/parking.ts';
import { PROGRESS_MS, type Progress } from '../../watch/events.ts';
import { createStatusCounts, sumOf } from '../../watch/run-view.ts';
import type { LocalWorker } from '../local-worker.ts';
import type { LookingUp } from './looking-up.ts';
import type { OpenedQueue } from './open-queue.ts';

interface ProgressOptions {
  /** Calls so far, by any worker. */
  readonly counters: () => CallCounters;
  /** The parts that make them, once they are open. */
  readonly lookups: () =>
    | {
        readonly local: Pick<LocalWorker, 'gate'>;
        readonly parking: Pick<Parking, 'count' | 'untilMs'>;
        readonly queue: Pick<OpenedQueue, 'stall'>;
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
  run: Pick<LookingUp, 'plan' | 'tally' | 'outstanding' | 'context' | 'job' | 'now'>,
  { counters, lookups }: ProgressOptions,
): ProgressReporter {
  const { plan, tally, outstanding, context, job } = run;
  const startMs = performance.now();

  function read(): Progress {
    const { local, parking, queue } = lookups() ?? {};
    const pace = local?.gate.describe();
    const { count: pendingNow = 0, untilMs = 0 } = parking ?? {};
    const isAllPending = pendingNow > 0 && pendingNow === outstanding.size;
    const made = counters();
    const { calls, retries, throttled } = made;
    return {
      due: plan.lookups,
      lookups: tally.done,
      outcomes: { ...tally.outcomes },
      statuses: rowsOf(run),
      calls,
      retries,
      throttled,
      ...priceOf(job, made),
      lookupMs: performance.now() - startMs,
      pace,
      stall: outstanding.size > 0 ? queue?.stall?.() : undefined,
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
      const left = Math.max(0, plan.rows - sumOf(rows));
      const ended = isStopped
        ? { statuses: { ...rows, skipped: left } }
        : { statuses: { ...rows, fresh: rows.fresh + left }, lookups: plan.lookups };
      tell({ ...read(), ...ended });
    },
    elapsedMs: () => performance.now() - startMs,
    end: () => clearInterval(ticker),
  };
}

function rowsOf({ plan, tally }: Pick<LookingUp, 'plan' | 'tally'>) {
  const { invalidRows: invalid, freshRows: fresh } = plan;
  return { ...createStatusCounts(), invalid, fresh, ...tally.rows };
}

/** What calls cost, and what was billed for them. */
function priceOf(
  { settings, endpoint }: Job,
  { calls, throttled, unsent, billedMicros }: CallCounters,
): Pick<Progress, 'cost' | 'currency' | 'bill'> {
  const { billing } = endpoint.profile ?? {};
  const { amount: price, currency } = settings.price ?? {};
  const billed = billing ? billedMicros / MICROS : calls - throttled - unsent;
  const bill = billing && billOf(billedMicros, billing.unit);
  return { cost: price === undefined ? undefined : costOf(billed, price), currency, bill };
}
