import { billOf, costOf, costOfUnits } from '../common/format.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import type { Summary } from '../watch/summary.ts';
import type { JoinedRun } from './look-up-and-join.ts';
import type { PlannedRun } from './plan-run.ts';

/** The files that were written. */
type Written = Partial<Pick<Summary, 'out' | 'failures' | 'failuresSheet' | 'changes'>>;

/** Makes the summary of a run. */
export function summarize(
  run: PlannedRun,
  joined: JoinedRun,
  { out, failures, failuresSheet, changes }: Written,
): Summary {
  const { plan: made, startedMs } = run;
  const {
    lookups,
    calls,
    retries,
    throttled,
    billedMicros,
    elapsedMs: lookupMs,
    stopped,
    pace,
    callsPer,
    pendingUntilMs,
  } = joined.totals;
  const { price } = run.job.settings;
  const { billing } = run.job.endpoint.profile ?? {};
  return {
    runId: run.context.runId,
    rows: made.rows,
    statuses: joined.statuses,
    uniqueDomains: made.uniqueDomains,
    freshDomains: made.freshDomains,
    lookups,
    calls,
    retries,
    throttled,
    cost:
      price === undefined
        ? undefined
        : billing
          ? costOfUnits(billedMicros, price)
          : costOf(calls - throttled, price),
    ...(billing ? { bill: billOf(billedMicros, billing.unit) } : {}),
    elapsedMs: performance.now() - startedMs,
    lookupMs,
    callsPerSecond: calls === 0 ? 0 : calls / (lookupMs / 1_000),
    pace,
    callsPer,
    ...(pendingUntilMs === undefined ? {} : { pendingUntilMs }),
    store: { folder: run.job.settings.store, sizeBytes: sizeOnDisk(run.job.settings.store) },
    stopped,
    out,
    failures,
    failuresSheet,
    filled: run.fill?.counts,
    logos: joined.logos,
    changes,
  };
}
