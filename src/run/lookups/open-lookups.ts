import { describeProxy, findProxy } from '../../brand/proxy.ts';
import type { Reply } from '../../calls/lookup-queue.ts';
import { createCollector } from '../../collector/collect.ts';
import { countOf } from '../../common/format.ts';
import type { Closable } from '../../common/lifetime.ts';
import { paceIdOf } from '../../profile/job.ts';
import { Parking, pendingMs } from '../../queue/parking.ts';
import { systemClock } from '../../worker/clock.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { type Learned, readLearned } from '../../worker/pace-memory.ts';
import { createHelperSwitch } from '../../worker/stop-switch.ts';
import { watchApi } from '../api-watch.ts';
import { createBudgets, type Ledgers, startLedgers } from '../bounds.ts';
import { type LocalWorker, openLocalWorker } from '../local-worker.ts';
import type { PlannedRun } from '../plan.ts';
import type { LookingUp } from './looking-up.ts';
import { type OpenedQueue, openQueueOf } from './open-queue.ts';

/** The parts that make the lookups of a run. */
export interface Lookups extends Closable {
  readonly queue: OpenedQueue;
  /** The worker of this process, which may have nothing to do. */
  readonly local: LocalWorker;
  /** What counts the calls that are made here. */
  readonly ledgers: Ledgers;
  /** Lookups that are pending. */
  readonly parking: Parking;
  /** To be closed before the queue, which it reads. */
  readonly apiWatch: Closable;
  /** Passes the pace on to the next run. Over a shared queue, the workers keep it together. */
  savePace(): Promise<void>;
}

/** A killed process loses what it has learned of the pace since the last save. */
const SAVE_EVERY_MS = 2_000;
/** So many calls go first where the API has answered before, or others did not know: all may be odd domains. */
const FIRST_OF_ODD = 20;
const BAD: ReadonlySet<string | undefined> = new Set(['failed', 'rejected', 'not_found']);

/** @throws BrandfillError `INVALID_SETTING` when calls cannot be made, as with an invalid proxy */
export async function openLookups(run: LookingUp): Promise<Lookups> {
  const { job, store, context, plan, outstanding, stopSwitch, tally, now } = run;
  const { settings, endpoint } = job;
  const { onEvent, isTrial = false } = context;
  const isShared = settings.queue !== undefined;
  const parking = new Parking({
    maxPendingMs: pendingMs(settings.maxWait),
    collect: collectorOf(run),
    outstanding,
    onParked: tally.addParked,
    now,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    signal: stopSwitch.noNewCall,
  });
  const own = await startLedgers(run);
  const helper = createHelperSwitch(stopSwitch);
  const queue = await openQueueOf(run, {
    ledgers: own,
    onEarlier: (domains) => {
      const message = `An earlier run of this list did not end and left ${countOf(domains.length, 'lookup')} to workers; this one takes up what they find.`;
      onEvent({ type: 'notice', message, level: 'info' });
    },
    onOver: () => helper.leave(),
    collect: parking.collect,
  });
  try {
    const hasAnswered = store.hasAnswers();
    const memory = isShared ? undefined : readPace(run);
    // Over a shared queue it also works for other runs, which this run's bounds must not limit.
    const ledgers: Ledgers = isShared ? { own: [], callsPer: queue.callLedger } : own;
    const local = await openLocalWorker(settings, job, {
      stopSwitch: isShared ? helper : stopSwitch,
      budgets: createBudgets(run, ledgers),
      onCall: callRecorderOf(run),
      onNotice: (message) => run.context.onEvent({ type: 'notice', message }),
      sharedPace: queue.sharedPace,
      learned: memory?.start,
      diagnosis: {
        first: isTrial ? 1 : hasAnswered || run.isRest ? FIRST_OF_ODD : undefined,
        hasAnswered,
        wasBadBefore: (domain) => BAD.has(store.findHead(domain)?.status),
        isTrusting: settings.maxFailed >= 1,
      },
      // Over a shared queue, a pause holds up only the lookups of this run: see the queue.
      pause: isShared ? undefined : context.control,
    });
    // Otherwise its troubles might be looked for in the API.
    const proxy = settings.workers > 0 && plan.lookups > 0 ? findProxy(endpoint.origin) : undefined;
    if (proxy) onEvent({ type: 'notice', message: describeProxy(proxy), level: 'info' });
    const savePace = async (isLast = true): Promise<void> => {
      const learned = local.gate.learned();
      // Before its first call only a fixed rate is to be known of a process that is killed.
      if (!learned || (local.counters.calls === 0 && !learned.fixed)) return;
      // That a store cannot be written is told by the store itself.
      await memory?.save(learned, isLast).catch(() => {});
    };
    await savePace(false);
    const saving = setInterval(() => void savePace(false), SAVE_EVERY_MS);
    return {
      queue,
      local,
      ledgers,
      parking,
      savePace,
      apiWatch: watchApi({
        gate: local.gate,
        origin: endpoint.origin,
        maxWaitMs: settings.maxWait,
        onNotice: (message, { level = 'warn' } = {}) => onEvent({ type: 'notice', message, level }),
      }),
      close: async () => {
        clearInterval(saving);
        await local.close();
      },
    };
  } catch (error) {
    await queue.close();
    throw error;
  }
}

function collectorOf(run: LookingUp): Reply {
  const { job, store, outstanding, startedAtMs, now, tally, stopSwitch } = run;
  const collect = createCollector({
    store,
    // What a queue has is kept there until it is stored.
    isKeptElsewhere: job.settings.queue !== undefined,
    outstanding,
    startedAtMs,
    now,
    onOutcome: (kept) => {
      tally.add(kept);
    },
  });
  return watchOutcomes(collect, run, () => stopSwitch.stop({ reason: 'max_failed' }));
}

/** Fewer lookups than this say nothing about the rest. */
const LEAST_LOOKUPS = 200;

/**
 * Stops a run when too many lookups fail. A domain that failed in the last run too is left out of the
 * share: counted as a success, it would make room for new failures.
 */
export function watchOutcomes(
  collect: Reply,
  { job, store }: Pick<PlannedRun, 'job' | 'store'>,
  stop: () => void,
): Reply {
  let lookups = 0;
  let failures = 0;
  return (outcomes) => {
    for (const { domain, status } of outcomes) {
      if (status === 'pending') continue;
      const isFailure = status === 'failed';
      if (isFailure && store.findHead(domain)?.status === 'failed') continue;
      lookups += 1;
      if (isFailure) failures += 1;
      // Now, because more domains would be asked until this outcome is stored.
      if (lookups >= LEAST_LOOKUPS && failures > job.settings.maxFailed * lookups) stop();
    }
    return collect(outcomes);
  };
}

/** Leaves out calls for other runs over a shared queue. */
function callRecorderOf({ context: { report, onCall }, job, outstanding }: LookingUp) {
  if (!report) return onCall && ((call: AnsweredCall): void => onCall(call, job));
  return (call: AnsweredCall): void => {
    if (outstanding.has(call.domain)) report.recorder.answered(call);
  };
}

/**
 * What the last run knew of the pace for the API, credential and rate of a job, as far as it still
 * holds, and how this one passes it on. Never throws for what is malformed.
 */
function readPace({ job, store, context }: PlannedRun) {
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
    save: async (learned: Learned, isLast: boolean): Promise<void> => {
      const savedAtMs = Date.now();
      const fixed = learned.fixed && { ...learned.fixed, isUnsaved: !isLast };
      const state: Learned = { ...learned, fixed };
      // A run of a few calls never reached the limit: the one that it started with keeps its age.
      const isNews = state.limitPerMs !== start?.limitPerMs;
      const learnedAtMs = isNews ? savedAtMs : (saved?.learnedAtMs ?? savedAtMs);
      await store.savePace(id, { state, savedAtMs, learnedAtMs });
    },
  };
}
