import { describeProxy, findProxy } from '../brand/proxy.ts';
import { createCollector } from '../collector/collect.ts';
import type { CallLedger } from '../guard/call-ledger.ts';
import { callsIdOf } from '../job/pace-id.ts';
import { type LocalWorker, openLocalWorker } from '../local-worker.ts';
import { systemClock } from '../pace/clock.ts';
import { type SharedPaceWatch, watchSharedPace } from '../pace/shared/watch.ts';
import { linePasses, noteLeftOvers } from '../producer/left-overs.ts';
import type { HandleChunk } from '../queue/lookup-queue.ts';
import { createRecentOutcomes } from '../watch/recent-outcomes.ts';
import { type CallsPerSummary, type PaceSummary, summarizePace } from '../watch/summary.ts';
import type { CallCounters } from '../worker/call.ts';
import type { AnsweredCall } from '../worker/lookup.ts';
import { CALLS_WHERE_ANSWERED } from '../worker/preflight.ts';
import { createStopSwitch, type Stop } from '../worker/stop-switch.ts';
import { countCalls } from './count-calls.ts';
import type { LookUpAllOptions } from './look-up-options.ts';
import { openQueueOf } from './open-queue.ts';
import { openPaceMemory, type PaceSaver, savePaceOften } from './pace-memory.ts';
import { produceAll } from './produce-all.ts';
import { createTally } from './tally.ts';
import { tellOfControl } from './tell-of-control.ts';
import { startTellingProgress } from './tell-progress.ts';
import { watchOutcomes } from './watch-outcomes.ts';

/** What the lookups of a run came to. */
export interface LookupTotals extends CallCounters {
  readonly lookups: number;
  readonly elapsedMs: number;
  readonly stopped: Stop | undefined;
  /** Undefined when this process made no call. */
  readonly pace: PaceSummary | undefined;
  /** Undefined without a bound. */
  readonly callsPer: CallsPerSummary | undefined;
}

const DRAIN_MS = 10_000;

/**
 * Makes all lookups that are due: producer, queue, worker and collector, wired for one process or,
 * with a queue on Redis, for as many as there are. Returns when every outcome is on the disk.
 */
export async function lookUpAll(options: LookUpAllOptions): Promise<LookupTotals> {
  const { job, index, store, signal, onEvent, control, isTrial = false } = options;
  const { settings } = job;
  const outstanding = new Set<string>();
  const tally = createTally(options.domainRows.rowsOf);
  const recent = createRecentOutcomes();
  const isFresh = (domain: string): boolean => !tally.isAgain(domain) && options.isFresh(domain);
  const isShared = settings.queue !== undefined;
  const stopSwitch = createStopSwitch();
  let local: LocalWorker | undefined;
  /** Where all calls are made by others. */
  let elsewhere: SharedPaceWatch | undefined;
  let saver: PaceSaver | undefined;
  const counters = (): CallCounters => (isShared || !local ? tally.counters : local.counters);
  let isAlone = false;
  const progress = startTellingProgress({
    ...options,
    tally,
    recent,
    outstanding,
    counters,
    local: () => local,
    elsewhere: () => elsewhere,
    isAlone: () => isAlone && outstanding.size > 0,
    comesInBursts: isShared,
    api: job.endpoint.origin,
  });
  let pace: PaceSummary | undefined;
  let callsPer: CallsPerSummary | undefined;

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
  const endTelling = tellOfControl(control, onEvent);

  const passes = linePasses(store.leftOvers);
  let isComplete = true;
  try {
    const queue = await openQueueOf({
      ...options,
      outstanding,
      stopSwitch,
      onAlone: (isNowAlone) => {
        isAlone = isNowAlone;
      },
      collect: watchOutcomes(
        createCollector({
          store,
          outstanding,
          startedAtMs: options.startedAtMs,
          onOutcome: (outcome) => {
            isAlone = false;
            tally.add(outcome);
          },
        }),
        { ...options, recent },
        () => stopSwitch.stop({ reason: 'max_failed' }),
      ),
    });
    // Over a shared queue, those who share it keep the pace.
    const memory = isShared
      ? undefined
      : openPaceMemory({ job, store, clock: systemClock, isTrial, now: Date.now });
    const callLedger = queue.callLedger ?? openOwnLedger(options);
    // Over a shared queue it also works for others, who are no business of this run's budget.
    local = openLocalWorker(settings, job, {
      stopSwitch,
      maxCalls: isShared ? undefined : settings.maxCalls,
      holdsCallers: isShared,
      onCall: callRecorderOf(options, { outstanding, elapsedMs: progress.elapsedMs }),
      hasFailedBefore: (domain) => store.findHead(domain)?.status === 'failed',
      sharedPace: queue.sharedPace,
      startPace: memory?.start,
      firstCalls: isTrial ? 1 : store.hasAnswers() ? CALLS_WHERE_ANSWERED : undefined,
      callLedger,
      measure: options.instruments?.worker,
      // Over a shared queue, only the lookups of this run are held up: see the queue.
      pause: isShared ? undefined : control,
    });
    if (settings.workers !== 0) tellOfProxy(options);
    if (settings.workers === 0 && queue.sharedPace) {
      const rate = settings.rate === 'auto' ? undefined : settings.rate;
      elsewhere = watchSharedPace({ stored: queue.sharedPace, rate, clock: systemClock });
    }
    const { counters: calls, snapshotPace, giveBackCalls } = local;
    saver = memory && savePaceOften(memory, () => (calls.calls > 0 ? snapshotPace() : undefined));
    const handle = handlerOf(local, isFresh);
    const producing = async (): Promise<void> => {
      isComplete = await produceAll({
        ...options,
        tally,
        control,
        index,
        queue: queue.queue,
        outstanding,
        isFresh,
        passes,
        chunkSize: queue.chunkSize,
        maxLookups: isShared ? settings.maxCalls : undefined,
        signal: stopSwitch.noNewCall,
      });
    };
    try {
      const work = settings.workers > 0 ? [queue.queue.work(handle)] : [];
      const giveUp = (): void => stopSwitch.giveUp({ reason: 'error' });
      saver?.failed.catch(giveUp);
      const looking = allOrNothing([...work, producing(), queue.queue.settled()], giveUp);
      // After a commit that failed, those behind it may never end.
      await Promise.race(saver ? [looking, saver.failed] : [looking]);
    } finally {
      await giveBackCalls();
      callsPer = await countCalls(callLedger, settings.maxCallsPer);
      await queue.close();
    }
    await saver?.save();
    if (!isTrial && (stopSwitch.stopped || !isComplete || passes.length > 1)) {
      await noteLeftOvers({ ...options, leftOvers: store.leftOvers });
    }
    await store.flush();
    progress.tellEnd(stopSwitch.stopped !== undefined || !isComplete);
    if (local.counters.calls > 0) {
      // What other workers are told closes the way here as well, without a report here.
      const measuredMs = local.waitedMs();
      const waitedMs = isShared
        ? { ...measuredMs, ...progress.waitedMs }
        : { ...progress.waitedMs, ...measuredMs };
      pace = summarizePace(local.turnstile.describe(), { ...counters(), waitedMs });
    }
  } finally {
    progress.end();
    endTelling();
    saver?.stop();
    elsewhere?.close();
    clearTimeout(drain);
    signal.removeEventListener('abort', interrupt);
    await local?.close();
  }
  const stopped = stopSwitch.stopped ?? (isComplete ? undefined : { reason: 'max_calls' as const });
  return {
    ...counters(),
    lookups: tally.done,
    elapsedMs: progress.elapsedMs(),
    stopped,
    pace,
    callsPer,
  };
}

/** Leaves out what is looked up for others over a shared queue. */
function callRecorderOf(
  { report }: Pick<LookUpAllOptions, 'report'>,
  {
    outstanding,
    elapsedMs,
  }: { readonly outstanding: ReadonlySet<string>; readonly elapsedMs: () => number },
): ((call: AnsweredCall) => void) | undefined {
  if (!report) return undefined;
  return (call) => {
    if (outstanding.has(call.domain)) {
      report.recorder.answered(call, elapsedMs());
    }
  };
}

/** Who does not know of it looks for its troubles in the API. */
function tellOfProxy({ job, plan, onEvent }: LookUpAllOptions): void {
  const proxy = findProxy(job.endpoint.origin);
  if (!proxy || plan.lookups === 0) return;
  onEvent({ type: 'notice', message: describeProxy(proxy), level: 'info' });
}

/** Where calls are counted that are bounded together with those of other runs on the same store. */
function openOwnLedger({ job, store }: LookUpAllOptions): CallLedger | undefined {
  const limit = job.settings.maxCallsPer;
  return limit && store.openCallLedger(callsIdOf(job), limit);
}

/** Another run on the same store may have asked since this one planned. */
function handlerOf({ worker }: LocalWorker, isFresh: (domain: string) => boolean): HandleChunk {
  return (chunk, reply, isWanted = (domain) => !isFresh(domain)) =>
    worker.handle(chunk, reply, isWanted);
}

/** Waits for all; when one fails, makes the others end and throws what went wrong first. */
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
