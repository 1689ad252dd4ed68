import { describeProxy, findProxy } from '../../brand/proxy.ts';
import type { CallLedger } from '../../calls/budget.ts';
import type { LookupQueue, Stall } from '../../calls/lookup-queue.ts';
import { type Pass, produce } from '../../collector/produce.ts';
import type { RowIndex } from '../../collector/row-index.ts';
import type { OnNotice } from '../../common/errors.ts';
import { countOf } from '../../common/format.ts';
import { type Closable, createCloser } from '../../common/lifetime.ts';
import { callsIdOf, nameApi, paceIdOf } from '../../profile/job.ts';
import { createInProcessQueue } from '../../queue/in-process.ts';
import { lookupsAtOnce } from '../../worker/batches.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { type Learned, readLearned } from '../../worker/pace-memory.ts';
import type { SharedPace } from '../../worker/redis-pace.ts';
import { createHelperSwitch } from '../../worker/stop-switch.ts';
import type { Worker } from '../../worker/worker.ts';
import { watchApi } from '../api-watch.ts';
import {
  countingOf,
  createBudgets,
  isInterrupted,
  isNamed,
  type Ledgers,
  runIdOf,
} from '../bounds.ts';
import { type LocalWorker, openLocalWorker } from '../local-worker.ts';
import type { ApiOfRun } from '../open.ts';
import { notify } from '../run-context.ts';
import type { LookupSession } from './session.ts';

/** What a session is to ask. */
export interface Asking {
  readonly index: Pick<RowIndex, 'read'>;
  /** Those that go ahead of all. */
  readonly first: readonly string[];
  readonly passes: readonly Pass[];
  /** What counts the calls of the run in its store. */
  readonly ledgers: Ledgers;
  /** Whether others were asked about its domains before, so that it may know few of them. */
  readonly isRest: boolean;
}

/** A killed process loses what it has learned of the pace since the last save. */
const SAVE_EVERY_MS = 2_000;

/**
 * Makes all lookups of a session. Wires producer, queue, worker and collector for one process or,
 * with a queue on Redis, for all workers there. Returns when every outcome is committed.
 *
 * @throws BrandfillError `INVALID_SETTING` when calls cannot be made, as with an invalid proxy;
 *   `UNUSABLE_QUEUE`
 */
export async function askApi(session: LookupSession, asking: Asking): Promise<void> {
  try {
    await ask(session, asking);
  } catch (error) {
    if (!session.isShared) throw error;
    const { toQueueError } = await import('../../queue/redis-errors.ts');
    throw toQueueError(error);
  }
}

async function ask(session: LookupSession, asking: Asking): Promise<void> {
  const { api, isShared, stopSwitch } = session;
  const { job, context } = api;
  const closer = createCloser();
  try {
    let local: LocalWorker | undefined;
    closer.add({ close: async () => await local?.close() }); // after the queue, which gives it work
    const helper = createHelperSwitch(stopSwitch);
    const queue = closer.add(
      await openQueueOf(session, { bounds: asking.ledgers.own, onOver: () => helper.leave() }),
    );
    // Over a shared queue it also works for other runs, which this run's bounds must not limit.
    const ledgers = isShared ? { own: [], callsPer: queue.callLedger } : asking.ledgers;
    // There, the workers keep the pace together.
    const pace = isShared ? undefined : readPace(api);
    local = await openLocalWorker(job.settings, job, {
      stopSwitch: isShared ? helper : stopSwitch,
      budgets: createBudgets(api, ledgers),
      onCall: callRecorderOf(session),
      onNotice: (...notice) => notify(context, ...notice),
      sharedPace: queue.sharedPace,
      learned: pace?.start,
      diagnosis: knownBefore(api, asking),
      // Over a shared queue, a pause holds up only the lookups of this run: see the queue.
      pause: isShared ? undefined : context.control,
    });
    const { worker, giveBackCalls } = local;
    session.parts = { local, stall: queue.stall };
    const savePace = async (isLast: boolean) => await pace?.save(local, isLast);
    await savePace(false);
    const saving = setInterval(() => void savePace(false), SAVE_EVERY_MS);
    closer.add({ close: async () => clearInterval(saving) });
    closer.add(watchPlace(session, local));
    try {
      await session.unlessUnwritable(() => workThrough(session, { ...asking, queue, worker }));
      await session.parking.close();
    } finally {
      await session.unlessUnwritable(giveBackCalls);
    }
    await session.unlessUnwritable(() => session.countCalls(ledgers.callsPer));
    await savePace(true);
  } finally {
    await closer.close();
  }
}

/**
 * So many calls go first where the API has answered before, or others did not know: all may be odd
 * domains.
 */
const FIRST_OF_ODD = 20;
const BAD: ReadonlySet<string | undefined> = new Set(['failed', 'rejected', 'not_found']);

/** What is known when answers are weighed. */
function knownBefore({ job, store, context }: ApiOfRun, { isRest }: Pick<Asking, 'isRest'>) {
  const hasAnswered = store.hasAnswers();
  return {
    first: context.isTrial ? 1 : hasAnswered || isRest ? FIRST_OF_ODD : undefined,
    hasAnswered,
    foundBefore: context.isTrial ? [] : store.foundDomains(),
    wasBadBefore: (domain: string): boolean => BAD.has(store.findHead(domain)?.status),
    isTrusting: job.settings.maxFailed >= 1,
  };
}

/** Says what stands between this process and the API, and what comes of it. */
function watchPlace({ api, due }: LookupSession, { gate }: LocalWorker): Closable {
  const { job, context } = api;
  const { settings, endpoint } = job;
  // Otherwise its troubles might be looked for in the API.
  const proxy = settings.workers > 0 && due > 0 ? findProxy(endpoint.origin) : undefined;
  if (proxy) notify(context, describeProxy(proxy), { level: 'info' });
  return watchApi({
    gate,
    origin: endpoint.origin,
    maxWaitMs: settings.maxWait,
    onNotice: (...notice) => notify(context, ...notice),
  });
}

/** Leaves out calls for other runs over a shared queue. */
function callRecorderOf({ api, outstanding }: LookupSession) {
  const { report, onCall } = api.context;
  if (!report) return onCall && ((call: AnsweredCall): void => onCall(call, api.job));
  return (call: AnsweredCall): void => {
    if (call.isProbe || outstanding.has(call.domain)) report.recorder.answered(call);
  };
}

interface Working extends Asking {
  readonly queue: OpenedQueue;
  readonly worker: Worker;
}

/** Gives out the lookups, makes them and awaits the outcomes. */
async function workThrough(session: LookupSession, working: Working): Promise<void> {
  const { queue } = working.queue;
  const { worker } = working;
  // When one part fails, the others are ended, and the first error is thrown.
  let failure: { readonly error: unknown } | undefined;
  const orGiveUp = async (part: Promise<void>): Promise<void> => {
    try {
      await part;
    } catch (error) {
      failure ??= { error };
      session.stopSwitch.giveUp({ reason: 'error' });
    }
  };
  const isAtWork = session.api.job.settings.workers > 0;
  const parts = [
    ...(isAtWork ? [queue.work((...taken) => worker.handle(...taken))] : []),
    produceAll(session, working),
    queue.settled(),
  ];
  await Promise.all(parts.map(orGiveUp));
  if (failure) throw failure.error;
}

/**
 * Gives out the domains that are due, and those again that are pending, until all have an outcome.
 */
async function produceAll(session: LookupSession, working: Working): Promise<void> {
  const { outstanding, parking, isShared, api } = session;
  const { index, first, passes } = working;
  const { queue, chunkSize } = working.queue;
  const signal = session.stopSwitch.noNewCall;
  const give: typeof queue.add = (chunk) => queue.add(chunk);
  // Else each comes here once, and the store need not be asked about it.
  const mayBeFresh = isShared || api.context.confirm !== undefined || passes.length > 1;
  const givingOut = parking.giveOut(give, chunkSize());
  givingOut.catch(() => {}); // thrown below
  try {
    const isFresh = (domain: string): boolean => mayBeFresh && session.isFresh(domain);
    await produce({ index, first, passes, give, outstanding, isFresh, chunkSize, signal });
    await outstanding.untilEmpty(signal);
  } finally {
    parking.end();
    await givingOut;
    queue.end();
  }
}

/**
 * What the last run knew of the pace for the API, credential and rate of a job, as far as it still
 * holds, and how this one passes it on. Never throws for what is malformed.
 */
function readPace({ job, store, context }: ApiOfRun) {
  const id = paceIdOf(job);
  const nowMs = Date.now();
  const saved = store.findPace(id);
  // Somebody who tries a single domain is told of a wait, however long.
  const maxWaitMs = context.isTrial ? Number.POSITIVE_INFINITY : job.settings.maxWait;
  const known = readLearned(saved?.state, nowMs - (saved?.learnedAtMs ?? 0), { nowMs, maxWaitMs });
  const { startRate } = job.endpoint.profile ?? {};
  const start: Learned | undefined =
    known ??
    (startRate && { limitPerMs: startRate.count / startRate.perMs, cap: 0, statedUntilMs: 0 });
  return {
    start,
    save: async ({ gate, counters }: LocalWorker, isLast: boolean): Promise<void> => {
      const learned = gate.learned();
      // Before its first call only a fixed rate is to be known of a process that is killed.
      if (!learned || (counters.calls === 0 && !learned.fixed)) return;
      const fixed = learned.fixed && { ...learned.fixed, isUnsaved: !isLast };
      const state: Learned = { ...learned, fixed };
      // A run of a few calls never reached the limit: the one that it started with keeps its age.
      const isNews = state.limitPerMs !== start?.limitPerMs;
      const learnedAtMs = (isNews ? undefined : saved?.learnedAtMs) ?? Date.now();
      // That a store cannot be written is told by the store itself.
      await store.savePace(id, { state, learnedAtMs }).catch(() => {});
    },
  };
}

interface OpenQueueOptions {
  /** What the run's store counts. */
  readonly bounds: Ledgers['own'];
  /** Called when the run needs no worker any more. */
  readonly onOver: () => void;
}

/** An open queue with its chunk size and shared state. */
interface OpenedQueue extends Closable {
  readonly queue: LookupQueue;
  /** The number of domains in a chunk. */
  readonly chunkSize: () => number;
  /** The pace shared by all workers for the same API with the same credential. */
  readonly sharedPace?: SharedPace;
  /** Counts the calls of all workers, if these are bounded together. */
  readonly callLedger?: CallLedger | undefined;
  /** Why nothing comes from it. @default something comes */
  readonly stall?: () => Stall | undefined;
}

/** Small, because chunks need not be sent here, and then few domains are under way at once. */
const CHUNK_SIZE_HERE = 10;
/** The least number of chunks for each worker, so that none is without one for long. */
const CHUNKS_PER_WORKER = 4;
const SMALLEST_WINDOW = 64;
/** In lookups; fewer for a short list, and for a slow API: others wait for the end of a chunk. */
const LARGEST_CHUNK = 50;
const SMALLEST_CHUNK = 10;
const CHUNK_SECONDS = 0.5;

/** Opens the queue that the settings name: on Redis, or in this process. */
async function openQueueOf(
  session: LookupSession,
  options: OpenQueueOptions,
): Promise<OpenedQueue> {
  const { settings, endpoint } = session.api.job;
  if (settings.queue !== undefined) return await openSharedQueue(settings.queue, session, options);
  // A chunk may wait long for its last domain. With as many chunks as callers, no caller is idle.
  const window = lookupsAtOnce(settings.concurrency, endpoint) + 1;
  const queue = createInProcessQueue({ collect: session.parking.collect, window });
  return { queue, chunkSize: () => CHUNK_SIZE_HERE, close: () => queue.close() };
}

async function openSharedQueue(
  url: string,
  session: LookupSession,
  { bounds, onOver }: OpenQueueOptions,
): Promise<OpenedQueue> {
  // Loaded here, so that a run without Redis need not wait for it.
  const { openQueueServer, openRunQueue, ...shared } = await import('../../queue/index.ts');
  const { api, due, stopSwitch, outstanding, parking } = session;
  const { job, context } = api;
  const { onQueues, control } = context;
  const { workers, rate } = job.settings;
  const concurrency = lookupsAtOnce(job.settings.concurrency, job.endpoint);
  const onNotice: OnNotice = (...notice) => notify(context, ...notice);
  const closer = createCloser();
  try {
    const redis = closer.add(await openQueueServer({ url, onNotice }));
    const { queueName } = job.endpoint;
    const workersThere = (await shared.findServing(redis.client, queueName)).workers + workers;
    const fairShare = Math.ceil(due / (CHUNKS_PER_WORKER * Math.max(1, workersThere)));
    const largest = Math.max(1, Math.min(LARGEST_CHUNK, fairShare));
    const slots = Math.ceil((2 * concurrency) / largest);
    const startedMs = performance.now();
    const chunkSize = (): number => {
      const perSecond = session.done / ((performance.now() - startedMs) / 1_000);
      const own = Math.ceil((perSecond * CHUNK_SECONDS) / Math.max(1, workersThere));
      return Math.min(largest, Math.max(SMALLEST_CHUNK, own));
    };
    const endQueues = onQueues?.(shared.createQueueReader(redis));
    closer.add({ close: async () => endQueues?.() });
    const chunks = Math.max(SMALLEST_WINDOW, CHUNKS_PER_WORKER * slots * workersThere);
    const queue = closer.add(
      await openRunQueue({
        redis,
        api: nameApi(job.settings),
        queue: queueName,
        run: runIdOf(api),
        isNamed: isNamed(api),
        collect: parking.collect,
        outstanding,
        control,
        concurrency,
        useful: () => session.parts?.local.useful() ?? concurrency,
        window: () => chunks * chunkSize(),
        rate: rate === 'auto' ? undefined : rate,
        bounds,
        counting: countingOf(job.endpoint),
        onMade: (made) => session.noteMade(made),
        onUsedUp: (reason) => stopSwitch.stop({ reason }),
        onEarlier: (domains) => {
          const message = `An earlier run of this list did not end and left ${countOf(domains.length, 'lookup')} to workers; this one takes up what they find.`;
          onNotice(message, { level: 'info' });
        },
        onOver,
        isInterrupted: () => isInterrupted(stopSwitch.stopped),
        callsMade: () => 0,
        signal: stopSwitch.noNewCall,
        giveUp: stopSwitch.noCall,
        onNotice,
      }),
    );
    const sharedPace = { redis, key: shared.paceKey(callsIdOf(job)) };
    const limit = job.settings.maxCallsPer;
    const callLedger = limit && shared.createSharedCallLedger(redis, callsIdOf(job), limit);
    const stall = (): Stall | undefined => {
      const text = redis.trouble();
      return text === undefined ? queue.stall : { why: 'redis', text };
    };
    return { queue, chunkSize, sharedPace, callLedger, stall, close: () => closer.close() };
  } catch (error) {
    await closer.close();
    throw error;
  }
}
