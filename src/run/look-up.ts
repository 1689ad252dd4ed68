import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { unlessAborted } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import type { LogosOfRun, SavedLogos } from './logos.ts';
import { addTotals, type LookupTotals, lookUpAll } from './lookups/look-up-all.ts';
import { makeStore, type PlannedRun } from './plan.ts';
import type { Pass } from './two-apis.ts';

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
export async function lookUp(planned: PlannedRun, outFolder = '.'): Promise<LookedUpRun> {
  const { sample = 0 } = planned.job.settings;
  const isSampled = sample > 0 && planned.plan.lookups > sample;
  if (!isSampled) await confirmCalls(planned);
  const run = await makeStore(planned);
  const logos = await openLogos(run, outFolder);
  const totals = isSampled ? await lookUpSampleFirst(run, sample) : await lookUpDue(run);
  throwIfNothingAsked(totals, run);
  const saved = await logos?.save(totals.stopped);
  return {
    ...run,
    totals: { ...totals, stopped: totals.stopped ?? saved?.stopped },
    logos: logos && saved && { columns: logos.columns, summary: saved.summary },
  };
}

// Parts that few runs need are loaded on demand.
async function openLogos(run: PlannedRun, outFolder: string): Promise<LogosOfRun | undefined> {
  const { logos: folder, logoField: field } = run.job.settings;
  if (folder === undefined || field === undefined) return undefined;
  const { openLogosOf } = await import('./logos.ts');
  return await openLogosOf(run, { folder, field, outFolder });
}

async function lookUpSampleFirst(run: PlannedRun, most: number): Promise<LookupTotals> {
  const { lookUpSample } = await import('./sample.ts');
  const { totals, run: rest } = await lookUpSample(run, most, lookUpDue);
  if (totals.stopped) return totals;
  await confirmCalls(rest);
  return addTotals(totals, await lookUpDue(rest));
}

/** @param isLeftOut domains that are not looked up now, in a sample. @default none is left out */
async function lookUpDue(
  run: PlannedRun,
  isLeftOut?: (domain: string) => boolean,
): Promise<LookupTotals> {
  const { job, context, store, plan, isUsable, apis } = run;
  const isOut = isLeftOut ?? (() => false);
  const part = isLeftOut ? 'sample' : 'all';
  const look = (pass: Pass): Promise<LookupTotals> => lookUpPass(run, part, pass);
  if (apis) {
    const { lookUpAtBoth } = await import('./two-apis.ts');
    return await lookUpAtBoth({ ...run, apis }, isOut, look);
  }
  return await look({
    ...context,
    job,
    store,
    plan,
    isFresh: (domain) => {
      const head = store.findHead(domain);
      return isOut(domain) || (head !== undefined && isUsable(domain, head));
    },
  });
}

type Part = 'sample' | 'all';

async function lookUpPass(run: PlannedRun, part: Part, pass: Pass): Promise<LookupTotals> {
  const { context, index, domainRows, startedAtMs, now } = run;
  return await lookUpAll({
    ...context,
    name: nameOf(run, part, pass.job),
    list: run.source.name,
    index,
    domainRows,
    startedAtMs,
    now,
    ...pass,
  });
}

/**
 * @throws an `AbortError` when `confirm` returns false; the signal's reason when it fires before
 */
async function confirmCalls({ job, context, plan, column }: PlannedRun): Promise<void> {
  const { yes = false, confirmAbove } = job.settings;
  const { confirm, signal } = context;
  const least = column.isDoubtful ? 0 : confirmAbove;
  const { calls: callsOfSecond = 0 } = plan.second ?? {};
  if (!yes && confirm && plan.calls + callsOfSecond > least) {
    // A program without types may give what somebody typed, such as 'no'.
    const answer: unknown = await unlessAborted(confirm(plan), signal);
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

/**
 * The same for the same list on the same store, so that a killed run is resumed. A sample is a run of its
 * own: what is left of another part would not count in it.
 */
function nameOf({ store, source }: PlannedRun, part: Part, job: Job): string {
  const list = source.hash ?? resolve(source.name);
  const parts = [store.id, job.endpoint.id, list, job.settings.out ?? ''];
  const all = part === 'sample' ? [...parts, part] : parts;
  return createHash('sha256').update(all.join('\n')).digest('base64url').slice(0, 16);
}
