import { describeProxy, findProxy } from '../../brand/proxy.ts';
import { type Pass, produce } from '../../collector/produce.ts';
import type { RowIndex } from '../../collector/row-index.ts';
import { type Closable, createCloser } from '../../common/lifetime.ts';
import { paceIdOf } from '../../profile/job.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { type Learned, readLearned } from '../../worker/pace-memory.ts';
import { createHelperSwitch } from '../../worker/stop-switch.ts';
import type { Worker } from '../../worker/worker.ts';
import { watchApi } from '../api-watch.ts';
import type { ApiOfRun } from '../apis.ts';
import { createBudgets, type Ledgers } from '../bounds.ts';
import { type LocalWorker, openLocalWorker } from '../local-worker.ts';
import { notify } from '../run-context.ts';
import { type OpenedQueue, openQueueOf } from './open-queue.ts';
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
