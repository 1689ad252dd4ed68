import { setTimeout as delay } from 'node:timers/promises';
import type { CallCounters } from '../../common/calls.ts';
import type { BrandfillError } from '../../common/errors.ts';
import { within } from '../../common/lifetime.ts';
import type { RunControl } from '../../common/run-control.ts';
import type { CallLedger, CallsPer } from '../../guard/budget.ts';
import { linePasses, noteLeftOvers, type ProduceOptions, produce } from '../../producer/produce.ts';
import type { HandleChunk, LookupQueue } from '../../queue/lookup-queue.ts';
import type { Parking } from '../../queue/parking.ts';
import { type Claims, type LookupsElsewhere, NO_CLAIMS } from '../../store/claims/claims.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { RunEvent } from '../../watch/events.ts';
import { type CallsPerSummary, type PaceSummary, summarizePace } from '../../watch/summary.ts';
import type { Stop, StopSwitch } from '../../worker/stop-switch.ts';
import { createLookUpState, type LookUpAllOptions, type LookUpState } from './look-up-state.ts';
import { type Lookups, openLookups } from './open-lookups.ts';
import type { OpenQueueOptions } from './open-queue.ts';
import { type ProgressReporter, startReportingProgress, type Tally } from './progress.ts';

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
  /** The same of each API, where a run asks two. What they billed is only there, each in its unit. */
  readonly apis?: readonly [LookupTotals, LookupTotals];
}

/** The totals of two parts of a run as those of one. */
export function addTotals(one: LookupTotals, other: LookupTotals): LookupTotals {
  const { apis } = one;
  return {
    ...other,
    ...(apis && other.apis
      ? { apis: [addTotals(apis[0], other.apis[0]), addTotals(apis[1], other.apis[1])] }
      : {}),
    calls: one.calls + other.calls,
    retries: one.retries + other.retries,
    throttled: one.throttled + other.throttled,
    billedMicros: one.billedMicros + other.billedMicros,
    lookups: one.lookups + other.lookups,
    elapsedMs: one.elapsedMs + other.elapsedMs,
    pace: other.pace ?? one.pace,
  };
}

/**
 * Makes all lookups that are due. Wires producer, queue, worker and collector for one process or,
 * with a queue on Redis, for all workers there. Returns when every outcome is on the disk.
 */
export async function lookUpAll(options: LookUpAllOptions): Promise<LookupTotals> {
  const { job, store, control, onEvent, isTrial = false } = options;
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
    elsewhere: () => lookups?.elsewhere,
    parking: () => lookups?.parking,
    isAlone: () => state.isAlone && outstanding.size > 0,
    awaited: () => state.awaited,
    comesInBursts: isShared,
    api: job.endpoint.origin,
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
  const passes = linePasses(store.leftOvers);
  let claims: Claims | undefined;
  let callsPer: CallsPerSummary | undefined;
  const isFresh = (domain: string): boolean => !tally.isAgain(domain) && options.isFresh(domain);
  const claim: OpenQueueOptions['claim'] = (domains) => {
    const due = domains.filter((domain) => !isFresh(domain));
    return claims?.take(due, isFresh) ?? { granted: due, refused: [] };
  };
  try {
    const opened = await openLookups({ ...options, claim }, state, progress.elapsedMs);
    lookups = opened;
    const { callLedger, local, queue, saver } = opened;
    let isComplete = false;
    try {
      claims = openClaimsOf(options, state, queue.elsewhere);
      const work = { ...options, isFresh, passes, claims };
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
    await unlessUnwritable(async () => {
      if (!isTrial && (isStopped || passes.length > 1)) {
        await noteLeftOvers({ ...options, leftOvers: store.leftOvers });
      }
      await store.flush();
    });
    progress.reportEnd(isStopped);
    return {
      ...counters(),
      lookups: tally.done,
      elapsedMs: progress.elapsedMs(),
      stopped: stopSwitch.stopped ?? (isComplete ? undefined : { reason: 'max_calls' }),
      pace: summarizeOwnPace(lookups, { counters: counters(), progress, isShared }),
      callsPer,
      pendingUntilMs: lookups.parking.comeBackAtMs,
    };
  } catch (error) {
    if (!isShared) throw error;
    const { toQueueError } = await import('../../queue/bullmq/server/refusals.ts');
    throw toQueueError(error);
  } finally {
    progress.end();
    endReporting();
    endListening();
    claims?.close();
    lookups?.saver?.stop();
    await lookups?.local.close();
  }
}

/**
 * A trial does not wait for a run that has its domain in the list. That run then finds the answer.
 */
function openClaimsOf(
  { store, control, isTrial = false }: LookUpAllOptions,
  state: LookUpState,
  elsewhere: LookupsElsewhere | undefined,
): Claims {
  if (isTrial) return NO_CLAIMS;
  return store.openClaims({
    underWay: state.outstanding,
    standsStill: () => control?.isPaused === true || state.isAlone,
    elsewhere,
  });
}

/**
 * Gives out the lookups, makes them and awaits the outcomes. Returns false when `maxCalls` left
 * some out.
 */
async function workThrough(
  { queue, local, parking }: Lookups,
  state: LookUpState,
  options: LookUpAllOptions & Pick<ProduceAllOptions, 'passes' | 'claims'>,
): Promise<boolean> {
  const { settings } = options.job;
  const { outstanding, stopSwitch, tally } = state;
  const { isFresh } = options;
  // Another run on the same store may have asked a domain since the plan.
  const handle: HandleChunk = (chunk, reply, isWanted = (domain) => !isFresh(domain)) =>
    local.worker.handle(chunk, reply, isWanted);
  let isComplete = true;
  const producing = async (): Promise<void> => {
    isComplete = await produceAll({
      ...options,
      tally,
      parking,
      control: options.control,
      queue: queue.queue,
      outstanding,
      onWait: (count) => {
        state.awaited = count;
      },
      chunkSize: queue.chunkSize,
      maxLookups: settings.queue === undefined ? undefined : settings.maxCalls,
      signal: stopSwitch.noNewCall,
    });
  };
  const work = settings.workers > 0 ? [queue.queue.work(handle, local)] : [];
  const giveUp = (): void => stopSwitch.giveUp({ reason: 'error' });
  await allOrNothing([...work, producing(), queue.queue.settled()], giveUp);
  return isComplete;
}

interface OwnPaceOptions {
  readonly counters: CallCounters;
  readonly progress: ProgressReporter;
  readonly isShared: boolean;
}

/** Undefined when this process made no call. */
function summarizeOwnPace(
  { local }: Lookups,
  { counters, progress, isShared }: OwnPaceOptions,
): PaceSummary | undefined {
  if (local.counters.calls === 0) return undefined;
  // Over a shared queue, a 429 of another worker closes the gate here too, without a report to the
  // meter here.
  const measuredMs = local.waitedMs();
  const waitedMs = isShared
    ? { ...measuredMs, ...progress.waitedMs }
    : { ...progress.waitedMs, ...measuredMs };
  return summarizePace(local.limiter.describe(), { ...counters, waitedMs });
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
  let { isPaused, isRetryWanted } = control;
  const tell = (message: string): void => onEvent({ type: 'notice', message });
  return control.onChange(() => {
    if (control.isPaused !== isPaused && !control.stopped.aborted) {
      tell(control.isPaused ? 'Paused: no new call starts until it is resumed.' : 'Resumed.');
    }
    if (control.isRetryWanted && !isRetryWanted) {
      tell('Failed lookups are tried once more after all others.');
    }
    ({ isPaused, isRetryWanted } = control);
  });
}

interface ProduceAllOptions extends ProduceOptions {
  /** Says whether failed domains are to be asked once more. @default they are not */
  readonly control: RunControl | undefined;
  readonly store: Pick<OutcomeStore, 'findHead'>;
  readonly tally: Pick<Tally, 'again'>;
  readonly parking: Pick<Parking, 'room' | 'giveOut' | 'end'>;
  /** When the run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The present time of the run, in milliseconds since 1970. Never goes back. */
  readonly now: () => number;
}

const POLL_MS = 10;

/**
 * Gives out the domains that are due, and those again that are pending. When a retry is requested while the last of them are under
 * way, it then gives out again those that failed in this run.
 *
 * @returns false when there were more than `maxLookups`
 */
async function produceAll(options: ProduceAllOptions): Promise<boolean> {
  const { control, queue, signal, parking, chunkSize } = options;
  const open: LookupQueue = {
    ...queue,
    add: async (chunk) => {
      await parking.room();
      await queue.add(chunk);
    },
    end: () => {},
  };
  const givingOut = parking.giveOut((chunk) => queue.add(chunk), chunkSize);
  givingOut.catch(() => {}); // thrown below
  try {
    const isComplete = await produce({ ...options, queue: open });
    while ((await isQuiet(options)) && isComplete && control?.takeRetry() && !signal.aborted) {
      await produceFailed({ ...options, queue: open });
    }
    return isComplete;
  } finally {
    parking.end();
    await givingOut;
    queue.end();
  }
}

/**
 * Waits until nothing is under way. Domains that another run has stored meanwhile get no outcome
 * here.
 */
async function isQuiet({ outstanding, isFresh, signal }: ProduceAllOptions): Promise<boolean> {
  while (!signal.aborted && ![...outstanding].every(isFresh)) await delay(POLL_MS);
  return true;
}

async function produceFailed(options: ProduceAllOptions): Promise<void> {
  const { queue, store, tally, startedAtMs, now } = options;
  const beforeMs = now();
  const hasFailed = (domain: string): boolean => {
    const head = store.findHead(domain);
    const atMs = head?.status === 'failed' ? head.fetchedAtMs : 0;
    return atMs >= startedAtMs && atMs < beforeMs;
  };
  await produce({
    ...options,
    passes: [() => true],
    isFresh: (domain) => !hasFailed(domain),
    queue: {
      ...queue,
      add: async (chunk) => {
        for (const domain of chunk.domains) tally.again(domain);
        await queue.add(chunk);
      },
    },
  });
}
