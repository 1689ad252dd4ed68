import { setTimeout as delay } from 'node:timers/promises';
import { type ProduceOptions, produce } from '../../collector/produce.ts';
import type { CallCounters } from '../../common/calls.ts';
import type { BrandfillError } from '../../common/errors.ts';
import { within } from '../../common/lifetime.ts';
import type { RunControl } from '../../common/run-control.ts';
import type { LookupQueue } from '../../queue/lookup-queue.ts';
import type { Parking } from '../../queue/parking.ts';
import type { RunEvent } from '../../watch/events.ts';
import { type CallsPerSummary, type PaceSummary, summarizePace } from '../../watch/summary.ts';
import type { CallLedger, CallsPer } from '../../worker/budget.ts';
import type { Stop, StopSwitch } from '../../worker/stop-switch.ts';
import {
  createLookUpState,
  type LookUpAllOptions,
  type LookUpState,
  type SampleFirst,
} from './look-up-state.ts';
import { type Lookups, openLookups } from './open-lookups.ts';
import { startReportingProgress } from './progress.ts';

/** The totals of a run's lookups. */
export interface LookupTotals extends CallCounters {
  readonly lookups: number;
  readonly elapsedMs: number;
  readonly stopped: Stop | undefined;
  /** Undefined when this process made no call. */
  readonly pace: PaceSummary | undefined;
  /** Undefined without a bound. */
  readonly callsPer: CallsPerSummary | undefined;
  /** When to ask again about what is pending, in milliseconds since 1970, if the API said. */
  readonly pendingUntilMs: number | undefined;
}

/**
 * Makes all lookups that are due. Wires producer, queue, worker and collector for one process or,
 * with a queue on Redis, for all workers there. Returns when every outcome is on the disk.
 */
export async function lookUpAll(options: LookUpAllOptions): Promise<LookupTotals> {
  const { job, store, control, onEvent } = options;
  const { settings } = job;
  const isShared = settings.queue !== undefined;
  const state = createLookUpState(options);
  const { outstanding, stopSwitch, tally } = state;
  let lookups: Lookups | undefined;
  const counters = (): CallCounters =>
    isShared || !lookups ? tally.counters : lookups.local.counters;
  const progress = startReportingProgress({
    ...options,
    ...state,
    counters,
    local: () => lookups?.local,
    parking: () => lookups?.parking,
    isAlone: () => state.isAlone && outstanding.size > 0,
    unit: job.endpoint.profile?.billing?.unit,
  });
  const endListening = stopOnSignal(stopSwitch, options);
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
  const endReporting = reportControl(control, onEvent);
  let callsPer: CallsPerSummary | undefined;
  try {
    const opened = await openLookups(options, state);
    lookups = opened;
    const { callLedger, local, queue, saver } = opened;
    let isComplete = false;
    try {
      const onSampled = async (): Promise<void> => {
        const goOn = progress.hold();
        await options.sample?.onOver(counters());
        goOn();
      };
      const work = { ...options, onSampled };
      isComplete = (await unlessUnwritable(() => workThrough(opened, state, work))) ?? false;
      await opened.parking.close();
    } finally {
      await unlessUnwritable(() => local.giveBackCalls());
      callsPer = await unlessUnwritable(() => countCalls(callLedger, settings.maxCallsPer));
      await opened.limitWatch.close();
      await queue.close();
    }
    await saver?.save();
    const isStopped = stopSwitch.stopped !== undefined || !isComplete;
    await unlessUnwritable(() => store.flush());
    progress.reportEnd(isStopped);
    return {
      ...counters(),
      lookups: tally.done,
      elapsedMs: progress.elapsedMs(),
      stopped: stopSwitch.stopped ?? (isComplete ? undefined : { reason: 'max_calls' }),
      // Undefined when this process made no call.
      pace:
        lookups.local.counters.calls > 0
          ? summarizePace(lookups.local.gate.describe(), counters())
          : undefined,
      callsPer,
      pendingUntilMs: lookups.parking.comeBackAtMs,
    };
  } catch (error) {
    if (!isShared) throw error;
    const { toQueueError } = await import('../../queue/redis-errors.ts');
    throw toQueueError(error);
  } finally {
    progress.end();
    endReporting();
    endListening();
    lookups?.saver?.stop();
    await lookups?.local.close();
  }
}

/**
 * Gives out the lookups, makes them and awaits the outcomes. Returns false when `maxCalls` left
 * some out.
 */
async function workThrough(
  { queue, local, parking }: Lookups,
  state: LookUpState,
  options: LookUpAllOptions & Pick<ProduceAllOptions, 'onSampled'>,
): Promise<boolean> {
  const { settings } = options.job;
  const { outstanding, stopSwitch } = state;
  let isComplete = true;
  const producing = async (): Promise<void> => {
    isComplete = await produceAll({
      ...options,
      parking,
      queue: queue.queue,
      outstanding,
      chunkSize: queue.chunkSize,
      maxLookups: settings.queue === undefined ? undefined : settings.maxCalls,
      signal: stopSwitch.noNewCall,
    });
  };
  const work =
    settings.workers > 0 ? [queue.queue.work((...taken) => local.worker.handle(...taken))] : [];
  const giveUp = (): void => stopSwitch.giveUp({ reason: 'error' });
  await allOrNothing([...work, producing(), queue.queue.settled()], giveUp);
  return isComplete;
}

/** Waits for all. When one fails, cancels the others and throws the first error. */
async function allOrNothing(work: readonly Promise<void>[], cancel: () => void): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  await Promise.all(
    work.map((part) =>
      part.catch((error: unknown) => {
        failure ??= { error };
        cancel();
      }),
    ),
  );
  if (failure) throw failure.error;
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
): Promise<CallsPerSummary | undefined> {
  if (!ledger || !limit) return undefined;
  let summary: CallsPerSummary | undefined;
  const read = async (): Promise<void> => {
    const { taken: used, window } = await ledger.read();
    const left = Math.max(0, limit.count - used);
    summary = { ...limit, used, left, endsAtMs: window.endsAtMs };
  };
  await within(LONGEST_MS, read()).catch(() => {});
  return summary;
}

const DRAIN_MS = 10_000;

/**
 * Stops the lookups of a run when its signal fires. Calls under way get ten seconds. Any stop is
 * reported, except for errors, which are reported separately. Returns a function that removes the
 * listeners.
 */
function stopOnSignal(
  stopSwitch: StopSwitch,
  { signal, onEvent }: Pick<LookUpAllOptions, 'signal' | 'onEvent'>,
): () => void {
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
  return () => {
    clearTimeout(drain);
    signal.removeEventListener('abort', interrupt);
  };
}

/** Reports what was asked of a run to viewers elsewhere. Returns a function that ends that. */
function reportControl(
  control: RunControl | undefined,
  onEvent: (event: RunEvent) => void,
): () => void {
  if (!control) return () => {};
  let { isPaused } = control;
  const tell = (message: string): void => onEvent({ type: 'notice', message });
  return control.onChange(() => {
    if (control.isPaused !== isPaused && !control.stopped.aborted) {
      tell(control.isPaused ? 'Paused: no new call starts until it is resumed.' : 'Resumed.');
    }
    ({ isPaused } = control);
  });
}

interface ProduceAllOptions extends ProduceOptions {
  readonly isFirst: LookUpAllOptions['isFirst'];
  /** Looked up before all others. @default none */
  readonly sample?: SampleFirst | undefined;
  /** Called when that is done. */
  readonly onSampled: () => Promise<void>;
  readonly parking: Pick<Parking, 'giveOut' | 'end'>;
}

const POLL_MS = 10;

/**
 * Gives out the domains that are due, and those again that are pending, until all have an outcome.
 *
 * @returns false when there were more than `maxLookups`
 */
async function produceAll(options: ProduceAllOptions): Promise<boolean> {
  const { queue, signal, parking, chunkSize } = options;
  const open: LookupQueue = { ...queue, end: () => {} };
  const givingOut = parking.giveOut((chunk) => queue.add(chunk), chunkSize);
  givingOut.catch(() => {}); // thrown below
  try {
    const { sample, isFirst, isFresh } = options;
    if (sample) {
      const isOut = (domain: string): boolean => !sample.domains.has(domain) || isFresh(domain);
      await produce({ ...options, queue: open, isFresh: isOut });
      await quiet(options);
      if (!signal.aborted) await options.onSampled();
    }
    const isComplete = await produce({
      ...options,
      queue: open,
      passes: isFirst ? [isFirst, () => true] : undefined,
    });
    await quiet(options);
    return isComplete;
  } finally {
    parking.end();
    await givingOut;
    queue.end();
  }
}

/** Waits until nothing is under way. */
async function quiet({ outstanding, signal }: ProduceAllOptions): Promise<void> {
  while (!signal.aborted && outstanding.size > 0) await delay(POLL_MS);
}
