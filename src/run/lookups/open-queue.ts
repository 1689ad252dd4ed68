import type { CallLedger } from '../../calls/budget.ts';
import type { LookupQueue, Stall } from '../../calls/lookup-queue.ts';
import type { OnNotice } from '../../common/errors.ts';
import { countOf } from '../../common/format.ts';
import { type Closable, createCloser } from '../../common/lifetime.ts';
import { callsIdOf, nameApi } from '../../profile/job.ts';
import { createInProcessQueue } from '../../queue/in-process.ts';
import { lookupsAtOnce } from '../../worker/batches.ts';
import type { SharedPace } from '../../worker/redis-pace.ts';
import { countingOf, isInterrupted, isNamed, type Ledgers, runIdOf } from '../bounds.ts';
import { notify } from '../run-context.ts';
import type { LookupSession } from './session.ts';

interface OpenQueueOptions {
  /** What the run's store counts. */
  readonly bounds: Ledgers['own'];
  /** Called when the run needs no worker any more. */
  readonly onOver: () => void;
}

/** An open queue with its chunk size and shared state. */
export interface OpenedQueue extends Closable {
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
export async function openQueueOf(
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
