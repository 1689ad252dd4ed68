import type { CallCounters } from '../../common/call-counters.ts';
import { type Closer, createCloser } from '../../common/closer.ts';
import type { CallLedger } from '../../guard/call-ledger.ts';
import { callsIdOf, paceIdOf } from '../../job/pace-id.ts';
import type { StoredState } from '../../pace/shared/stored-state.ts';
import { createInProcessQueue } from '../../queue/in-process.ts';
import type { LookupQueue, Reply } from '../../queue/lookup-queue.ts';
import { normalizeDomain } from '../../rows/domain/domain.ts';
import type { LookupsElsewhere, TakenClaims } from '../../store/claims/claims.ts';
import type { StopSwitch } from '../../worker/stop-switch.ts';
import type { LookUpAllOptions } from './look-up-options.ts';

export interface OpenQueueOptions
  extends Pick<
    LookUpAllOptions,
    'job' | 'name' | 'list' | 'plan' | 'onEvent' | 'instruments' | 'control'
  > {
  readonly outstanding: Set<string>;
  readonly stopSwitch: StopSwitch;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Claims domains once more that were out of hand for a while; those that have outcomes are left out. */
  readonly claim: (domains: readonly string[]) => TakenClaims;
  /** Receives what is found out for another run, and takes it out of a set. */
  readonly collectInto: (outstanding: Set<string>) => Reply;
  /** Told of domains on their way that an earlier run of the list gave out. */
  readonly onInherited?: (domains: readonly string[]) => void;
  /** Told at the end of calls that no outcome tells of. @default nobody counts them */
  readonly onUntoldCalls?: (calls: Readonly<CallCounters>) => void;
  /** Told whether there is a worker, as often as nothing moves. */
  readonly onAlone?: (isAlone: boolean) => void;
}

/** A queue, and how it wants to be fed. */
export interface OpenedQueue {
  readonly queue: LookupQueue;
  /** How many domains make a chunk. */
  readonly chunkSize: number;
  /** Undefined for lookups of this process. */
  readonly elsewhere?: LookupsElsewhere;
  /** The pace that all workers share who work for the same API with the same credential. */
  readonly sharedPace?: StoredState;
  /** Where all workers count their calls, if those are bounded together. */
  readonly callLedger?: CallLedger | undefined;
  close(): Promise<void>;
}

/**
 * Small, because chunks need not travel here, and few domains are then under way at once; but an outcome
 * counts as such until it is committed, and callers of a fast API must not run out of domains by then.
 */
const CHUNK_SIZE_HERE = 10;
/** So many chunks for each worker, at least, that none is long without one. */
const CHUNKS_PER_WORKER = 4;
const SMALLEST_WINDOW = 64;

/** Opens the queue that the settings name: Redis, or none but this process. */
export async function openQueueOf(options: OpenQueueOptions): Promise<OpenedQueue> {
  const { job, collect, outstanding } = options;
  if (job.settings.queue !== undefined) return await openSharedQueue(job.settings.queue, options);
  // A chunk may wait long for its last domain. As many chunks as callers: none is ever idle.
  const window = job.settings.concurrency + 1;
  const queue = createInProcessQueue({ collect, window });
  // As many chunks wait as are worked on, and one is being made.
  const most = (2 * window + 1) * CHUNK_SIZE_HERE;
  options.instruments?.window({ outstanding: () => outstanding.size, most });
  return { queue, chunkSize: CHUNK_SIZE_HERE, close: () => queue.close() };
}

async function openSharedQueue(url: string, options: OpenQueueOptions): Promise<OpenedQueue> {
  // Loaded here, so that whoever has no Redis need not wait for it.
  const { openQueueServer, openRunQueue, createLostRuns, ...shared } = await import(
    '../../queue/bullmq/index.ts'
  );
  const { job, name, plan, onEvent, stopSwitch, instruments } = options;
  const paceId = paceIdOf(job);
  const { concurrency, chunk, window, workers, lostAfter, acceptEviction = false } = job.settings;
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
      api: job.endpoint.id,
      normalize: normalizeDomain,
      onNotice,
    };
    const signal = stopSwitch.noNewCall;
    const queue = closer.add(
      await openRunQueue({
        ...options,
        ...common,
        name,
        lockMs: lostAfter,
        window: chunks * chunkSize,
        maxCalls: job.settings.maxCalls,
        onCallsUsedUp: () => stopSwitch.stop({ reason: 'max_calls' }),
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
