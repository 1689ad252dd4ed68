import { setTimeout as delay } from 'node:timers/promises';
import type { CallLedger, CallsPer } from '../../calls/budget.ts';
import type { CallCounters } from '../../calls/call-counters.ts';
import type { Chunk } from '../../calls/lookup-queue.ts';
import { produce } from '../../collector/produce.ts';
import type { BrandfillError } from '../../common/errors.ts';
import { within } from '../../common/lifetime.ts';
import type { FoundOut } from '../../watch/findings.ts';
import type { RunView } from '../../watch/run-view.ts';
import type { Limit } from '../../worker/pace-memory.ts';
import type { Stop, StopSwitch } from '../../worker/stop-switch.ts';
import type { PlannedRun } from '../plan.ts';
import type { RunContext } from '../run-context.ts';
import { createLookingUp, type LookingUp } from './looking-up.ts';
import { type Lookups, openLookups } from './open-lookups.ts';
import { startReportingProgress } from './progress.ts';

/** The totals of a run's lookups. */
export interface LookupTotals extends CallCounters {
  readonly lookups: number;
  readonly elapsedMs: number;
  readonly stopped: Stop | undefined;
  /** Why each API was not asked further, in their order. */
  readonly stops: readonly (Stop | undefined)[];
  /** Undefined when this process made no call. */
  readonly limit: Limit | undefined;
  /** What the answers showed of the API. */
  readonly foundOut: readonly FoundOut[];
  /** Undefined without a bound. */
  readonly callsPer: RunView['callsPer'];
  /** When to ask again about what is pending, in milliseconds since 1970, if the API said. */
  readonly pendingUntilMs: number | undefined;
  /** What each of several APIs came to. */
  readonly sources?: RunView['sources'];
}

/**
 * Makes all lookups that are due. Wires producer, queue, worker and collector for one process or,
 * with a queue on Redis, for all workers there. Returns when every outcome is on the disk.
 */
export async function lookUpAll(planned: PlannedRun): Promise<LookupTotals> {
  const run = createLookingUp(planned);
  const { job, store, context } = run;
  const { stopSwitch, tally } = run;
  const isShared = job.settings.queue !== undefined;
  let lookups: Lookups | undefined;
  const counters = (): CallCounters =>
    isShared || !lookups ? tally.counters : lookups.local.counters;
  const progress = startReportingProgress(run, { counters, lookups: () => lookups });
  const endListening = listenTo(context, stopSwitch);
  let storeFailure: BrandfillError | undefined;
  void store.failed.then((error) => {
    storeFailure = error;
    stopSwitch.stop({ reason: 'unusable_store', storeError: error.message });
  });
  /** What only a store that can be written needs. Its failure is the reason of the stop. */
  const unlessUnwritable = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return storeFailure ? undefined : await work();
    } catch (error) {
      if (error !== storeFailure) throw error;
      return undefined;
    }
  };
  let callsPer: RunView['callsPer'];
  try {
    const opened = await openLookups(run);
    lookups = opened;
    const { ledgers, local, queue, parking } = opened;
    let isComplete = false;
    try {
      isComplete = (await unlessUnwritable(() => workThrough(opened, run))) ?? false;
      await parking.close();
    } finally {
      await unlessUnwritable(() => local.giveBackCalls());
      callsPer = await unlessUnwritable(() =>
        countCalls(ledgers.callsPer, job.settings.maxCallsPer),
      );
      await opened.apiWatch.close();
      await queue.close();
    }
    await opened.savePace();
    await unlessUnwritable(() => store.flush());
    let { stopped } = stopSwitch;
    if (!isComplete) stopped ??= { reason: 'max_calls' };
    progress.reportEnd(stopped !== undefined);
    return {
      ...counters(),
      lookups: tally.done,
      elapsedMs: progress.elapsedMs(),
      stopped,
      stops: [stopped],
      limit: local.counters.calls > 0 ? local.gate.describe().limit : undefined,
      foundOut: [{ findings: local.findings(), sameRecord: tally.sameRecord }],
      callsPer,
      pendingUntilMs: parking.comeBackAtMs,
    };
  } catch (error) {
    if (!isShared) throw error;
    const { toQueueError } = await import('../../queue/redis-errors.ts');
    throw toQueueError(error);
  } finally {
    progress.end();
    endListening();
    await lookups?.close();
  }
}

/**
 * Gives out the lookups, makes them and awaits the outcomes. Returns false when `maxCalls` left
 * some out.
 */
async function workThrough(opened: Lookups, run: LookingUp): Promise<boolean> {
  const { queue, local } = opened;
  const works =
    run.job.settings.workers > 0
      ? [queue.queue.work((...taken) => local.worker.handle(...taken))]
      : [];
  // When one part fails, the others are ended, and the first error is thrown.
  let failure: { readonly error: unknown } | undefined;
  const orGiveUp = async <T>(part: Promise<T>): Promise<T | undefined> => {
    try {
      return await part;
    } catch (error) {
      failure ??= { error };
      run.stopSwitch.giveUp({ reason: 'error' });
      return undefined;
    }
  };
  const producing = produceAll(opened, run);
  const parts = [...works, queue.queue.settled()].map((part) => orGiveUp(part));
  const [isComplete] = await Promise.all([orGiveUp(producing), ...parts]);
  if (failure) throw failure.error;
  return isComplete ?? false;
}

const POLL_MS = 10;

/**
 * Gives out the domains that are due, and those again that are pending, until all have an outcome.
 *
 * @returns false when there were more than `maxCalls` over a shared queue
 */
async function produceAll(
  { queue: { queue, chunkSize }, parking }: Lookups,
  { job, context, index, domains, outstanding, isFresh, first, passes, stopSwitch }: LookingUp,
): Promise<boolean> {
  const signal = stopSwitch.noNewCall;
  const open = { add: (chunk: Chunk) => queue.add(chunk), end: () => {} };
  const isShared = job.settings.queue !== undefined;
  const maxLookups = isShared ? job.settings.maxCalls : undefined;
  // Most domains come here once, and the store need not be asked about them, unless others had it meanwhile.
  const isAlone = !isShared && context.confirm === undefined;
  const comesOnce = (domain: string): boolean =>
    isAlone && passes.length === 1 && domains.of(domain) === 1;
  const untilQuiet = async (): Promise<void> => {
    while (!signal.aborted && outstanding.size > 0) await delay(POLL_MS);
  };
  const givingOut = parking.giveOut((chunk) => queue.add(chunk), chunkSize());
  givingOut.catch(() => {}); // thrown below
  try {
    const isComplete = await produce({
      index,
      queue: open,
      outstanding,
      isFresh: (domain) => !comesOnce(domain) && isFresh(domain),
      first,
      passes,
      chunkSize,
      maxLookups,
      signal,
    });
    await untilQuiet();
    return isComplete;
  } finally {
    parking.end();
    await givingOut;
    queue.end();
  }
}

const LONGEST_MS = 2_000;

/**
 * Counts how many calls all runs with one credential have made, and how many are left; undefined
 * without a limit. A ledger that cannot be reached holds up the end of a run by two seconds at
 * most.
 */
async function countCalls(
  ledger: CallLedger | undefined,
  limit: CallsPer | undefined,
): Promise<RunView['callsPer']> {
  if (!ledger || !limit) return undefined;
  let counted: RunView['callsPer'];
  const read = async (): Promise<void> => {
    const { taken: used, window } = await ledger.read();
    const left = Math.max(0, limit.count - used);
    counted = { ...limit, used, left, endsAtMs: window.endsAtMs };
  };
  await within(LONGEST_MS, read()).catch(() => {});
  return counted;
}

const DRAIN_MS = 10_000;

/**
 * Stops the lookups of a run when its signal fires; calls under way get ten seconds. Reports stops,
 * except for errors, which are reported separately, and pauses. Returns a function that ends that.
 */
function listenTo({ signal, onEvent, control }: RunContext, stopSwitch: StopSwitch): () => void {
  let drain: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    stopSwitch.stop({ reason: 'interrupted' });
    drain = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), DRAIN_MS);
  };
  stopSwitch.noNewCall.addEventListener('abort', () => {
    const { stopped } = stopSwitch;
    if (stopped && stopped.reason !== 'error') onEvent({ type: 'stopping', stop: stopped });
  });
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  let isPaused = control?.isPaused ?? false;
  const endControl = control?.onChange(() => {
    if (control.isPaused === isPaused || control.stopped.aborted) return;
    ({ isPaused } = control);
    const message = isPaused ? 'Paused: no new call starts until it is resumed.' : 'Resumed.';
    onEvent({ type: 'notice', message });
  });
  return () => {
    clearTimeout(drain);
    signal.removeEventListener('abort', interrupt);
    endControl?.();
  };
}
