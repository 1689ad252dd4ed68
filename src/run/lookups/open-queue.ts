import type { CallCounters } from '../../common/calls.ts';
import { type Closer, createCloser } from '../../common/lifetime.ts';
import type { CallLedger } from '../../guard/budget.ts';
import { callsIdOf, paceIdOf } from '../../options/api.ts';
import type { StoredState } from '../../pace/shared/state.ts';
import { createInProcessQueue, type LookupQueue, type Reply } from '../../queue/lookup-queue.ts';
import { normalizeDomain } from '../../rows/domain/domain.ts';
import type { LookupsElsewhere, TakenClaims } from '../../store/claims/claims.ts';
import { lookupsAtOnce } from '../../worker/batches.ts';
import type { StopSwitch } from '../../worker/stop-switch.ts';
import { costBoundOf } from '../local-worker.ts';
import type { LookUpAllOptions } from './look-up-state.ts';

export interface OpenQueueOptions
  extends Pick<
    LookUpAllOptions,
    'job' | 'name' | 'list' | 'plan' | 'onEvent' | 'instruments' | 'control'
  > {
  readonly outstanding: Set<string>;
  readonly stopSwitch: StopSwitch;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Outstanding domains that are pending, and on no queue. */
  readonly parked: ReadonlySet<string>;
  /** Claims domains again that were not held for a while. Domains with outcomes are left out. */
  readonly claim: (domains: readonly string[]) => TakenClaims;
  /**
   * Returns a function that stores outcomes for another run and removes their domains from the set.
   */
  readonly collectInto: (outstanding: Set<string>) => Reply;
  /** Called with domains under way that an earlier run of the list gave out. */
  readonly onEarlier?: (domains: readonly string[]) => void;
  /** Called at the end with calls that no outcome reports. @default not counted */
  readonly onUnreportedCalls?: (calls: Readonly<CallCounters>) => void;
  /** Called with whether there is no worker, at each check while no outcomes come. */
  readonly onAlone?: (isAlone: boolean) => void;
}

/** An open queue with its chunk size and shared state. */
export interface OpenedQueue {
  readonly queue: LookupQueue;
  /** The number of domains in a chunk. */
  readonly chunkSize: number;
  /** Where lookups are made; undefined when that is this process. */
  readonly elsewhere?: LookupsElsewhere;
  /** The pace shared by all workers for the same API with the same credential. */
  readonly sharedPace?: StoredState;
  /** Counts the calls of all workers, if these are bounded together. */
  readonly callLedger?: CallLedger | undefined;
  close(): Promise<void>;
}

/**
 * Small, because chunks need not be sent here, and then few domains are under way at once. Not
 * smaller, because a run notes each chunk in its file of claims.
 */
const CHUNK_SIZE_HERE = 10;
/** The least number of chunks for each worker, so that none is without one for long. */
const CHUNKS_PER_WORKER = 4;
const SMALLEST_WINDOW = 64;

/** Opens the queue that the settings name: on Redis, or in this process. */
export async function openQueueOf(options: OpenQueueOptions): Promise<OpenedQueue> {
  const { job, collect, outstanding } = options;
  if (job.settings.queue !== undefined) return await openSharedQueue(job.settings.queue, options);
  // A chunk may wait long for its last domain. With as many chunks as callers, no caller is idle.
  const window = lookupsAtOnce(job.settings.concurrency, job.endpoint) + 1;
  const queue = createInProcessQueue({ collect, window });
  // As many chunks wait as are worked on, and one more is being filled.
  const most = (2 * window + 1) * CHUNK_SIZE_HERE;
  options.instruments?.window({ outstanding: () => outstanding.size - queue.unstored, most });
  return { queue, chunkSize: CHUNK_SIZE_HERE, close: () => queue.close() };
}

async function openSharedQueue(url: string, options: OpenQueueOptions): Promise<OpenedQueue> {
  // Loaded here, so that a run without Redis need not wait for it.
  const { openQueueServer, openRunQueue, createLostRuns, ...shared } = await import(
    '../../queue/bullmq/index.ts'
  );
  const { job, name, plan, onEvent, stopSwitch, instruments } = options;
  const paceId = paceIdOf(job);
  const { chunk, window, workers, lostAfter, acceptEviction = false } = job.settings;
  const concurrency = lookupsAtOnce(job.settings.concurrency, job.endpoint);
  const onNotice = (message: string): void => onEvent({ type: 'notice', message });
  const closer: Closer = createCloser();
  try {
    const redis = closer.add(await openQueueServer({ url, acceptEviction, onNotice }));
    const workersThere = (await shared.countWorkers(redis.client)) + workers;
    const fairShare = Math.ceil(plan.lookups / (CHUNKS_PER_WORKER * Math.max(1, workersThere)));
    const chunkSize = Math.max(1, Math.min(chunk, fairShare));
    const slots = Math.ceil((2 * concurrency) / chunkSize);
    const endQueues = instruments?.queues(shared.createQueueReader(redis));
    closer.add({ close: async () => endQueues?.() });
    const chunks = window ?? Math.max(SMALLEST_WINDOW, CHUNKS_PER_WORKER * slots * workersThere);
    const common = {
      redis,
      concurrency,
      api: job.endpoint.queueId,
      normalize: normalizeDomain,
      maxPendingMs: job.settings.maxPending,
      onNotice,
    };
    const signal = stopSwitch.noNewCall;
    const queue = closer.add(
      await openRunQueue({
        ...options,
        ...common,
        name,
        leaseMs: lostAfter,
        window: chunks * chunkSize,
        maxCalls: job.settings.maxCalls,
        maxCost: costBoundOf(job.settings.maxCost, job.endpoint),
        onCallsUsedUp: (reason) => stopSwitch.stop({ reason }),
        signal,
        giveUp: stopSwitch.noCall,
      }),
    );
    const { collectInto } = options;
    const lostRuns = closer.add(createLostRuns({ ...common, collectInto, signal }));
    const elsewhere = { runId: queue.runId, endLost: lostRuns.end };
    const most = chunks * chunkSize;
    instruments?.window({ outstanding: () => options.outstanding.size, most });
    const sharedPace = shared.createStoredPace(redis.client, paceId);
    const limit = job.settings.maxCallsPer;
    const callLedger =
      limit && shared.createSharedCallLedger(redis.client, { id: callsIdOf(job), limit, onNotice });
    return { queue, chunkSize, elsewhere, sharedPace, callLedger, close: () => closer.close() };
  } catch (error) {
    await closer.close();
    throw error;
  }
}
