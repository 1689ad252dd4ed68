import { describeProxy, findProxy } from '../../brand/proxy.ts';
import { createCollector, type KeptOutcome } from '../../collector/collect.ts';
import { countOf } from '../../common/format.ts';
import type { Closable } from '../../common/lifetime.ts';
import { callsIdOf, type Job, paceIdOf } from '../../options/api.ts';
import type { Reply } from '../../queue/lookup-queue.ts';
import { createParking, type Parking } from '../../queue/parking.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { CallLedger } from '../../worker/budget.ts';
import { systemClock } from '../../worker/clock.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { type Learned, readLearned } from '../../worker/pace-memory.ts';
import { watchApi } from '../api-watch.ts';
import { type LocalWorker, openLocalWorker } from '../local-worker.ts';
import type { LookUpAllOptions, LookUpState } from './look-up-state.ts';
import { type OpenedQueue, openQueueOf } from './open-queue.ts';

/** The parts that make the lookups of a run. */
export interface Lookups {
  readonly queue: OpenedQueue;
  /** The worker of this process, which may have nothing to do. */
  readonly local: LocalWorker;
  /** Counts calls when those of several runs are bounded together. */
  readonly callLedger: CallLedger | undefined;
  /** Undefined over a shared queue, where the workers keep the pace together. */
  readonly saver: PaceSaver | undefined;
  /** Lookups that are pending. */
  readonly parking: Parking;
  /** To be closed before the queue, which it reads. */
  readonly limitWatch: Closable;
}

export async function openLookups(options: LookUpAllOptions, state: LookUpState): Promise<Lookups> {
  const earlier = createEarlierLookups(options);
  const { settings } = options.job;
  const parking = createParking({
    maxPendingMs: settings.maxPending,
    collect: collectorOf(options, state, earlier),
    outstanding: state.outstanding,
    onParked: state.tally.addParked,
    now: options.now,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    signal: state.stopSwitch.noNewCall,
  });
  const queue = await openQueueOf({
    ...options,
    ...state,
    onEarlier: (domains) => {
      earlier.add(domains);
      const message = describeEarlier(domains.length);
      options.onEvent({ type: 'notice', message, level: 'info' });
    },
    onAlone: (isAlone) => {
      state.isAlone = isAlone;
    },
    onUnreportedCalls: state.tally.addUnreported,
    collect: parking.collect,
  });
  try {
    return await openWith(queue, { options, state, parking });
  } catch (error) {
    await queue.close();
    throw error;
  }
}

interface Opening {
  readonly options: LookUpAllOptions;
  readonly state: LookUpState;
  readonly parking: Parking;
}

/** @throws BrandfillError `INVALID_SETTING` when calls cannot be made, as with an invalid proxy */
async function openWith(
  queue: OpenedQueue,
  { options, state, parking }: Opening,
): Promise<Lookups> {
  const { job, store, isTrial = false } = options;
  const { settings } = job;
  const isShared = settings.queue !== undefined;
  const hasAnswered = store.hasAnswers();
  const memory = isShared ? undefined : openPaceMemory({ job, store, isTrial, now: Date.now });
  const callLedger = queue.callLedger ?? openOwnLedger(options);
  const local = await openLocalWorker(settings, job, {
    stopSwitch: state.stopSwitch,
    // Over a shared queue it also works for other runs, which this run's bounds must not limit.
    maxCalls: isShared ? undefined : settings.maxCalls,
    maxCost: isShared ? undefined : settings.maxCost,
    onCall: callRecorderOf(options, state),
    sharedPace: queue.sharedPace,
    learned: memory?.start,
    evidence: {
      first: isTrial ? 1 : hasAnswered ? FIRST_WHERE_ANSWERED : undefined,
      hasAnswered,
      wasBadBefore: (domain) => BAD.has(store.findHead(domain)?.status),
      isTrusting: settings.maxFailed >= 1,
    },
    callLedger,
    // Over a shared queue, a pause holds up only the lookups of this run: see the queue.
    pause: isShared ? undefined : options.control,
  });
  if (settings.workers !== 0) reportProxy(options);
  const snapshot = () => (local.counters.calls > 0 ? local.gate.learned() : undefined);
  return {
    queue,
    local,
    callLedger,
    parking,
    saver: memory && savePaceOften(memory, snapshot),
    limitWatch: watchApi({
      gate: local.gate,
      origin: job.endpoint.origin,
      maxWaitMs: settings.maxWait,
      onNotice: (message, { level = 'warn' } = {}) =>
        options.onEvent({ type: 'notice', message, level }),
    }),
  };
}

/** So many calls go first where the API has answered before: a run may have only odd new domains. */
const FIRST_WHERE_ANSWERED = 20;
const BAD: ReadonlySet<string | undefined> = new Set(['failed', 'rejected']);

function collectorOf(
  options: LookUpAllOptions,
  state: LookUpState,
  earlier: EarlierLookups,
): Reply {
  const { outstanding, stopSwitch, tally } = state;
  const { job, store, startedAtMs, now } = options;
  const collect = createCollector({
    store,
    // What a queue has is kept there until it is stored.
    isKeptElsewhere: job.settings.queue !== undefined,
    outstanding,
    startedAtMs,
    now,
    onOutcome: (kept) => {
      state.isAlone = false;
      const share = earlier.shareOf(kept);
      if (share) tally.add(share);
    },
  });
  return watchOutcomes(collect, options, () => stopSwitch.stop({ reason: 'max_failed' }));
}

function describeEarlier(count: number): string {
  return `An earlier run of this list did not end and left ${countOf(count, 'lookup')} to workers; this one takes up what they find.`;
}

/** Leaves out calls for other runs over a shared queue. */
function callRecorderOf(
  { report, onCall }: LookUpAllOptions,
  { outstanding }: LookUpState,
): ((call: AnsweredCall) => void) | undefined {
  if (!report) return onCall;
  return (call) => {
    if (outstanding.has(call.domain)) report.recorder.answered(call);
  };
}

/** Reports a proxy. Otherwise its troubles might be looked for in the API. */
function reportProxy({ job, plan, onEvent }: LookUpAllOptions): void {
  const proxy = findProxy(job.endpoint.origin);
  if (!proxy || plan.lookups === 0) return;
  onEvent({ type: 'notice', message: describeProxy(proxy), level: 'info' });
}

/** Counts calls when they are bounded together with those of other runs on the same store. */
function openOwnLedger({ job, store }: LookUpAllOptions): CallLedger | undefined {
  const limit = job.settings.maxCallsPer;
  return limit && store.openCallLedger(callsIdOf(job), limit);
}

/** Lookups that an earlier run of the same list had given to workers when it was killed. */
interface EarlierLookups {
  add(domains: readonly string[]): void;
  /**
   * The part of an outcome that counts for this run: without calls that were made before it began.
   * Undefined when the earlier run stored the outcome too and this run counts it as fresh.
   */
  shareOf(kept: KeptOutcome): KeptOutcome | undefined;
}

interface EarlierLookupsOptions {
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly isFresh: (domain: string) => boolean;
}

export function createEarlierLookups({
  startedAtMs,
  isFresh,
}: EarlierLookupsOptions): EarlierLookups {
  const areFresh = new Map<string, boolean>();
  return {
    add: (domains) => {
      for (const domain of domains) areFresh.set(domain, isFresh(domain));
    },
    shareOf: (kept) => {
      const wasFresh = areFresh.get(kept.domain);
      if (wasFresh === true) return undefined;
      // Only for earlier domains: the clock of a worker may be behind.
      const isEarlier = wasFresh === false && kept.fetchedAtMs < startedAtMs;
      return isEarlier ? { ...kept, attempts: 0, throttled: 0 } : kept;
    },
  };
}

interface WatchOutcomesOptions {
  readonly job: { readonly settings: Pick<Job['settings'], 'maxFailed'> };
  readonly store: Pick<OutcomeStore, 'findHead'>;
}

/**
 * Stops a run when too many lookups fail. A domain that failed in the last run too is left out of the
 * share: counted as a success, it would make room for new failures.
 */
export function watchOutcomes(
  collect: Reply,
  { job, store }: WatchOutcomesOptions,
  stop: () => void,
): Reply {
  const share = createFailedShare(job.settings.maxFailed);
  return (outcomes) => {
    for (const outcome of outcomes) {
      const { domain, status } = outcome;
      if (status === 'pending') continue;
      const isFailure = status === 'failed';
      if (isFailure && store.findHead(domain)?.status === 'failed') continue;
      // Now, because more domains would be asked until this outcome is stored.
      if (share.add(isFailure)) stop();
    }
    return collect(outcomes);
  };
}

/** Detects that too many lookups have failed. */
interface FailedShare {
  /**
   * A lookup has ended.
   *
   * @returns true when more than the share have failed, out of enough lookups to tell
   */
  add(isFailure: boolean): boolean;
}

/** Fewer lookups than this say nothing about the rest. */
const LEAST_LOOKUPS = 200;

/** @param most the share that may fail, 0 to 1 */
function createFailedShare(most: number): FailedShare {
  let lookups = 0;
  let failures = 0;
  return {
    add: (isFailure) => {
      lookups += 1;
      if (isFailure) failures += 1;
      return lookups >= LEAST_LOOKUPS && failures > most * lookups;
    },
  };
}

/** Passes the pace on from one run to the next, in the store. */
export interface PaceMemory {
  /** What the last run knew, as far as it still holds. */
  readonly start: Learned | undefined;
  save(learned: Learned): Promise<void>;
}

interface PaceMemoryOptions {
  readonly job: Pick<Job, 'endpoint' | 'credential' | 'settings'>;
  readonly store: Pick<OutcomeStore, 'findPace' | 'savePace'>;
  /** Whether a user tries a single domain: a wait stated before is then reported. @default false */
  readonly isTrial?: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Reads the saved pace for the API, credential and rate of a job. Never throws for an invalid one. */
function openPaceMemory({ job, store, isTrial, now }: PaceMemoryOptions): PaceMemory {
  const id = paceIdOf(job);
  const nowMs = now();
  const saved = store.findPace(id);
  const maxWaitMs = isTrial ? Number.POSITIVE_INFINITY : job.settings.maxWait;
  const known = readLearned(saved?.state, nowMs - (saved?.learnedAtMs ?? 0), { nowMs, maxWaitMs });
  const { startRate } = job.endpoint.profile ?? {};
  const documented = startRate && {
    limitPerMs: startRate.count / startRate.perMs,
    cap: 0,
    toldUntilMs: 0,
  };
  const start = known ?? documented;
  return {
    start,
    save: async (state) => {
      const savedAtMs = now();
      // A run of a few calls never reached the limit: the one that it started with keeps its age.
      const isNews = state.limitPerMs !== start?.limitPerMs;
      const learnedAtMs = isNews ? savedAtMs : (saved?.learnedAtMs ?? savedAtMs);
      await store.savePace(id, { state, savedAtMs, learnedAtMs });
    },
  };
}

/** Saves the pace of a run regularly. That a store cannot be written is told by the store itself. */
interface PaceSaver {
  /** Saves it now. */
  save(): Promise<void>;
  /** Stops saving. */
  stop(): void;
}

/** A killed process loses what it has learned since the last save. */
const SAVE_EVERY_MS = 2_000;

/** @param snapshot returns what is known; undefined while there is nothing to save */
function savePaceOften(memory: PaceMemory, snapshot: () => Learned | undefined): PaceSaver {
  async function save(): Promise<void> {
    const state = snapshot();
    if (state) await memory.save(state).catch(() => {});
  }

  const timer = setInterval(() => void save(), SAVE_EVERY_MS);
  return { save, stop: () => clearInterval(timer) };
}
