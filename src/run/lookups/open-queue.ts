import type { CallLedger } from '../../calls/budget.ts';
import type { LookupQueue, Reply, Stall } from '../../calls/lookup-queue.ts';
import { type Closer, createCloser } from '../../common/lifetime.ts';
import { callsIdOf, nameApi } from '../../profile/job.ts';
import { createInProcessQueue } from '../../queue/in-process.ts';
import { lookupsAtOnce } from '../../worker/batches.ts';
import type { SharedPace } from '../../worker/redis-pace.ts';
import { countingOf, isInterrupted, isNamed, type Ledgers, runIdOf } from '../bounds.ts';
import type { LookingUp } from './looking-up.ts';

interface OpenQueueOptions {
  /** What the run's store counts. */
  readonly ledgers: Ledgers;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Called with domains under way that an earlier run of the list gave out. */
  readonly onEarlier: (domains: readonly string[]) => void;
  /** Called when the run needs no worker any more. */
  readonly onOver: () => void;
}

/** An open queue with its chunk size and shared state. */
export interface OpenedQueue {
  readonly queue: LookupQueue;
  /** The number of domains in a chunk. */
  readonly chunkSize: () => number;
  /** The pace shared by all workers for the same API with the same credential. */
  readonly sharedPace?: SharedPace;
  /** Counts the calls of all workers, if these are bounded together. */
  readonly callLedger?: CallLedger | undefined;
  /** Why nothing comes from it. @default something comes */
  readonly stall?: () => Stall | undefined;
  close(): Promise<void>;
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
export async function openQueueOf(run: LookingUp, options: OpenQueueOptions): Promise<OpenedQueue> {
  const { job } = run;
  const { collect } = options;
  if (job.settings.queue !== undefined)
    return await openSharedQueue(job.settings.queue, run, options);
  // A chunk may wait long for its last domain. With as many chunks as callers, no caller is idle.
  const window = lookupsAtOnce(job.settings.concurrency, job.endpoint) + 1;
  const queue = createInProcessQueue({ collect, window });
  return { queue, chunkSize: () => CHUNK_SIZE_HERE, close: () => queue.close() };
}

async function openSharedQueue(
  url: string,
  run: LookingUp,
  options: OpenQueueOptions,
): Promise<OpenedQueue> {
  // Loaded here, so that a run without Redis need not wait for it.
  const { openQueueServer, openRunQueue, ...shared } = await import('../../queue/index.ts');
  const { job, plan, context, stopSwitch, outstanding } = run;
  const { onEvent, onQueues, control } = context;
  const { workers, rate } = job.settings;
  const concurrency = lookupsAtOnce(job.settings.concurrency, job.endpoint);
  const onNotice = (message: string): void => onEvent({ type: 'notice', message });
  const closer: Closer = createCloser();
  try {
    const redis = closer.add(await openQueueServer({ url, onNotice }));
    const { queueName } = job.endpoint;
    const workersThere = (await shared.findServing(redis.client, queueName)).workers + workers;
    const fairShare = Math.ceil(plan.lookups / (CHUNKS_PER_WORKER * Math.max(1, workersThere)));
    const largest = Math.max(1, Math.min(LARGEST_CHUNK, fairShare));
    const slots = Math.ceil((2 * concurrency) / largest);
    const startedMs = performance.now();
    const chunkSize = (): number => {
      const perSecond = run.tally.done / ((performance.now() - startedMs) / 1_000);
      const own = Math.ceil((perSecond * CHUNK_SECONDS) / Math.max(1, workersThere));
      return Math.min(largest, Math.max(SMALLEST_CHUNK, own));
    };
    const endQueues = onQueues?.(shared.createQueueReader(redis));
    closer.add({ close: async () => endQueues?.() });
    const chunks = Math.max(SMALLEST_WINDOW, CHUNKS_PER_WORKER * slots * workersThere);
    const queue = closer.add(
      await openRunQueue({
        ...options,
        redis,
        api: nameApi(job.settings),
        queue: queueName,
        run: runIdOf(run),
        isNamed: isNamed(run),
        outstanding,
        control,
        concurrency,
        window: () => chunks * chunkSize(),
        rate: rate === 'auto' ? undefined : rate,
        bounds: options.ledgers.own,
        counting: countingOf(job.endpoint),
        onSpent: (spent) => run.tally.spend(spent),
        onUsedUp: (reason) => stopSwitch.stop({ reason }),
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
