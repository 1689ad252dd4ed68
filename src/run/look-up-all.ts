import { createCollector } from '../collector/collect.ts';
import type { CallLedger } from '../guard/call-ledger.ts';
import type { Job } from '../job/job.ts';
import { type LocalWorker, openLocalWorker } from '../local-worker.ts';
import type { RunInstruments } from '../metrics/instruments.ts';
import { systemClock } from '../pace/clock.ts';
import { type SharedPaceWatch, watchSharedPace } from '../pace/shared/watch.ts';
import { callsIdOf } from '../pace-id.ts';
import { linePasses, noteLeftOvers } from '../producer/left-overs.ts';
import type { RowIndex } from '../producer/row-index.ts';
import type { HandleChunk } from '../queue/lookup-queue.ts';
import type { RunRecorder } from '../report/run-recorder.ts';
import type { RunControl } from '../run-control.ts';
import type { OutcomeStore } from '../store/store.ts';
import type { Progress, RunEvent } from '../watch/events.ts';
import { createRecentOutcomes } from '../watch/recent-outcomes.ts';
import { type PaceSummary, summarizePace } from '../watch/summary.ts';
import { createWaitSamples } from '../watch/wait-samples.ts';
import type { CallCounters } from '../worker/call.ts';
import type { AnsweredCall } from '../worker/lookup.ts';
import { createStopSwitch, type Stop } from '../worker/stop-switch.ts';
import { openQueueOf } from './open-queue.ts';
import { openPaceMemory, type PaceSaver, savePaceOften } from './pace-memory.ts';
import { produceAll } from './produce-all.ts';
import { createTally } from './tally.ts';
import { tellOfControl } from './tell-of-control.ts';
import { watchOutcomes } from './watch-outcomes.ts';

export interface LookUpAllOptions {
  readonly job: Job;
  /** The same for the same list on the same store. */
  readonly name: string;
  /** What the list is called, for people. */
  readonly list: string;
  readonly index: RowIndex;
  readonly store: OutcomeStore;
  /** Lookups that are due, for the progress. */
  readonly lookups: number;
  readonly startedAtMs: number;
  readonly isFresh: (domain: string) => boolean;
  /** Stops the run; calls under way get ten seconds. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** What measures it. @default nothing */
  readonly instruments?: RunInstruments | undefined;
  /** Steers it meanwhile. @default nobody does */
  readonly control?: RunControl | undefined;
  /** Whether somebody tries a domain. @default false */
  readonly isTrial?: boolean;
  /** Told of the calls that are made here, where a report is wanted. */
  readonly report?: { readonly recorder: Pick<RunRecorder, 'answered'> } | undefined;
}

/** What the lookups of a run came to. */
export interface LookupTotals extends CallCounters {
  readonly lookups: number;
  readonly elapsedMs: number;
  readonly stopped: Stop | undefined;
  /** Undefined when this process made no call. */
  readonly pace: PaceSummary | undefined;
}

const DRAIN_MS = 10_000;
const PROGRESS_MS = 250;

/**
 * Makes all lookups that are due: producer, queue, worker and collector, wired for one process or,
 * with a queue on Redis, for as many as there are. Returns when every outcome is on the disk.
 */
export async function lookUpAll(options: LookUpAllOptions): Promise<LookupTotals> {
  const { job, index, store, signal, onEvent, control, isTrial = false } = options;
  const { settings } = job;
  const startMs = performance.now();
  const outstanding = new Set<string>();
  const tally = createTally();
  const recent = createRecentOutcomes();
  const isFresh = (domain: string): boolean => !tally.isAgain(domain) && options.isFresh(domain);
  const isShared = settings.queue !== undefined;
  const stopSwitch = createStopSwitch();
  let local: LocalWorker | undefined;
  /** Where all calls are made by others. */
  let elsewhere: SharedPaceWatch | undefined;
  let saver: PaceSaver | undefined;
  const counters = (): CallCounters => (isShared || !local ? tally.counters : local.counters);
  const progress = (): Progress => ({
    lookups: options.lookups,
    done: tally.done,
    outcomes: { ...tally.outcomes },
    ...counters(),
    elapsedMs: performance.now() - startMs,
    waitMs: (elsewhere ?? local?.turnstile)?.waitMs() ?? 0,
    pace: (elsewhere ?? local?.turnstile)?.describe(),
    outage: (elsewhere ?? local)?.describeOutage(),
    isPaused: control?.isPaused ?? false,
    comesInBursts: isShared,
    underWay: outstanding.size,
    recentFailures: recent.failures,
    recentAnswers: recent.answers,
  });

  const samples = createWaitSamples();
  let wasOut = false;
  const showProgress = (): void => {
    const now = progress();
    const isOut = local?.isOut() ?? false;
    samples.look({ ...now, isOut });
    if (isOut !== wasOut) tellOfOutage(isOut, { options, trouble: local?.lastTrouble() });
    wasOut = isOut;
    onEvent({ type: 'progress', ...now });
    recent.sample();
  };
  let pace: PaceSummary | undefined;

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
  const ticker = setInterval(showProgress, PROGRESS_MS);
  const endTelling = tellOfControl(control, onEvent);

  const passes = linePasses(store.leftOvers);
  let isComplete = true;
  try {
    const queue = await openQueueOf({
      ...options,
      outstanding,
      stopSwitch,
      collect: watchOutcomes(
        createCollector({
          store,
          outstanding,
          startedAtMs: options.startedAtMs,
          onOutcome: tally.add,
        }),
        { ...options, recent },
        () => stopSwitch.stop({ reason: 'max_failed' }),
      ),
    });
    // Over a shared queue, those who share it keep the pace.
    const memory = isShared
      ? undefined
      : openPaceMemory({ job, store, clock: systemClock, now: Date.now });
    // Over a shared queue it also works for others, who are no business of this run's budget.
    local = openLocalWorker(settings, job, {
      stopSwitch,
      maxCalls: isShared ? undefined : settings.maxCalls,
      holdsCallers: isShared,
      onCall: callRecorderOf(options, { outstanding, startMs }),
      hasFailedBefore: (domain) => store.findHead(domain)?.status === 'failed',
      sharedPace: queue.sharedPace,
      startPace: memory?.start,
      ...(isTrial ? { firstCalls: 1 } : {}),
      callLedger: queue.callLedger ?? openOwnLedger(options),
      measure: options.instruments?.worker,
      // Over a shared queue, only the lookups of this run are held up: see the queue.
      pause: isShared ? undefined : control,
    });
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
      await queue.close();
    }
    await saver?.save();
    if (!isTrial && (stopSwitch.stopped || !isComplete || passes.length > 1)) {
      await noteLeftOvers({ ...options, leftOvers: store.leftOvers });
    }
    await store.flush();
    showProgress();
    if (local.counters.calls > 0) {
      // What other workers are told closes the way here as well, without a report here.
      const measuredMs = local.waitedMs();
      const waitedMs = isShared
        ? { ...measuredMs, ...samples.waitedMs }
        : { ...samples.waitedMs, ...measuredMs };
      pace = summarizePace(local.turnstile.describe(), { ...counters(), waitedMs });
    }
  } finally {
    clearInterval(ticker);
    endTelling();
    saver?.stop();
    elsewhere?.close();
    clearTimeout(drain);
    signal.removeEventListener('abort', interrupt);
    await local?.close();
  }
  const { elapsedMs, done } = progress();
  const stopped = stopSwitch.stopped ?? (isComplete ? undefined : { reason: 'max_calls' as const });
  return { ...counters(), lookups: done, elapsedMs, stopped, pace };
}

/** Leaves out what is looked up for others over a shared queue. */
function callRecorderOf(
  { report }: Pick<LookUpAllOptions, 'report'>,
  { outstanding, startMs }: { readonly outstanding: Set<string>; readonly startMs: number },
): ((call: AnsweredCall) => void) | undefined {
  if (!report) return undefined;
  return (call) => {
    if (outstanding.has(call.domain)) {
      report.recorder.answered(call, performance.now() - startMs);
    }
  };
}

/** Also for those who see no progress: an outage may be a wrong address. */
function tellOfOutage(
  isOut: boolean,
  {
    options,
    trouble,
  }: { readonly options: LookUpAllOptions; readonly trouble: string | undefined },
): void {
  const { job, onEvent } = options;
  const what = trouble === undefined ? '' : ` (${trouble})`;
  const message = isOut
    ? `The API at ${job.endpoint.origin} is out${what}: calls wait until it is back, up to --max-outage. If it never answered, check --base-url.`
    : 'The API answers again.';
  onEvent({ type: 'notice', message, level: isOut ? 'warn' : 'info' });
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
