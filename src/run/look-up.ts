import { unlessAborted } from '../common/lifetime.ts';
import type { Stop } from '../worker/stop-switch.ts';
import { forgetSpent } from './bounds.ts';
import type { LogosOfRun, SavedLogos } from './logos.ts';
import { type LookupTotals, lookUpAll } from './lookups/look-up-all.ts';
import type { PlannedRun } from './plan.ts';
import { assertCallsArePossible, withinLimits } from './process-limits.ts';

/** A run whose lookups are over. */
export interface LookedUpRun extends PlannedRun {
  readonly totals: LookupTotals;
  /** Undefined when no logos were to be saved. */
  readonly logos: (Pick<LogosOfRun, 'columns'> & Pick<SavedLogos, 'summary'>) | undefined;
}

/**
 * Makes the lookups that are due, and fetches logos.
 *
 * @param outFolder the folder of the output, for paths that are relative to it
 * @throws the signal's reason when it fires before the first call
 */
export async function lookUp(run: PlannedRun, outFolder = '.'): Promise<LookedUpRun> {
  await confirmCalls(run);
  assertCallsArePossible(run.plan);
  const logos = await openLogos(run, outFolder);
  const totals = await askAll(run);
  throwIfNothingAsked(totals, run);
  const saved = await logos?.save(totals.stopped);
  return {
    ...run,
    totals: { ...totals, stopped: totals.stopped ?? saved?.stopped },
    logos: logos && saved && { columns: logos.columns, summary: saved.summary },
  };
}

/** Asks the one API of a run, or each of several in turn. */
async function askAll(run: PlannedRun): Promise<LookupTotals> {
  const { job, context } = run;
  if (run.apis.length > 1) return await (await import('./ask-each.ts')).askEach(run);
  return await lookUpAll({ ...run, job: withinLimits(job, context) });
}

/** Ends a run: the next one of its name has the bounds anew, unless this one was interrupted. */
export async function forgetAll(run: PlannedRun, stopped: Stop | undefined): Promise<void> {
  for (const { job, store } of run.apis) await forgetSpent({ ...run, job, store }, stopped);
}

// Parts that few runs need are loaded on demand.
async function openLogos(run: PlannedRun, outFolder: string): Promise<LogosOfRun | undefined> {
  const { logos: folder, logoField: field } = run.job.settings;
  if (folder === undefined || field === undefined) return undefined;
  const { openLogosOf } = await import('./logos.ts');
  return await openLogosOf(run, { folder, field, outFolder });
}

/**
 * @throws an `AbortError` when `confirm` returns false; the signal's reason when it fires before
 */
async function confirmCalls({ job, context, plan, store }: PlannedRun): Promise<void> {
  const { yes = false } = job.settings;
  const { confirm, signal } = context;
  if (!yes && confirm && plan.calls > 0) {
    // A program without types may give what somebody typed, such as 'no'.
    await store.leaveTurn(); // whoever is asked may use the store
    const answer: unknown = await unlessAborted(confirm(plan), signal);
    await store.takeTurn();
    if (answer !== true) {
      throw new DOMException('Whoever was asked said no.', 'AbortError');
    }
  }
  signal.throwIfAborted();
}

/**
 * When a run is ended before its first call, while it is paused or has to wait, the outputs of the
 * last run are kept. A trial is excluded, because it reports itself why there is no answer. So is a
 * queue, where workers may have made calls that they could not report.
 *
 * @throws the signal's reason
 */
function throwIfNothingAsked({ stopped, calls }: LookupTotals, { job, context }: PlannedRun): void {
  if (context.isTrial || job.settings.queue !== undefined) return;
  if (stopped?.reason === 'interrupted' && calls === 0) context.signal.throwIfAborted();
}
