import { once } from 'node:events';
import { describeProxy, findProxy } from '../brand/connections.ts';
import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { createCallbackGuard, createCloser, within } from '../common/lifetime.ts';
import { openStatus } from '../metrics/status.ts';
import {
  type Api,
  callsIdOf,
  createApi,
  nameApi,
  paceIdOf,
  readWithProfile,
} from '../options/api.ts';
import { WORKER_OPTIONS, type WorkerSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { libraryNaming, type OptionKinds } from '../options/read-options.ts';
import type { ChunkTaker } from '../queue/bullmq/chunks/take-chunks.ts';
import { toQueueError } from '../queue/bullmq/server/refusals.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { watchApi } from '../run/api-watch.ts';
import { openLocalWorker, startReportingWork } from '../run/local-worker.ts';
import { describeStop } from '../watch/describe.ts';
import type { WorkProgress } from '../watch/events.ts';
import { lookupsAtOnce } from '../worker/batches.ts';
import { createStopSwitch, type Stop, type StopSwitch } from '../worker/stop-switch.ts';

/** Options of a worker. Durations are texts such as `'30s'`, or milliseconds. */
export interface WorkOptions extends OptionsOf<typeof WORKER_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** The credential. @default BRANDFILL_API_KEY */
  readonly apiKey?: string | undefined;
  /** Stops the worker in order: calls under way are finished, the rest goes back to the queue. */
  readonly signal?: AbortSignal | undefined;
  /** Called with notices, each worth a line in a log. */
  readonly onNotice?: OnNotice | undefined;
  /** Called once, when it waits for lookups. */
  readonly onReady?: (() => void) | undefined;
  /** Called with the progress a few times a second. */
  readonly onProgress?: ((progress: WorkProgress) => void) | undefined;
}

/** Why a worker stopped. */
export interface WorkerEnd {
  readonly stopped: Stop;
  /** HTTP requests made. */
  readonly calls: number;
  /**
   * Whether unfinished work is back on the queue. Otherwise other workers notice that this one is
   * gone.
   */
  readonly isHandedBack: boolean;
}

/** Redis may be away when a worker is told to stop. Others then find its outcomes in the log. */
const SHUTDOWN_TIMEOUT_MS = 10_000;
const STOP_NOTICE_MS = 1_000;

/**
 * Takes chunks from a queue on Redis, for any number of runs and backfills, until it is told to
 * stop or the API refuses the credential or has no quota left.
 *
 * @throws BrandfillError when an option or the queue cannot be used; the error that a callback
 *   threw, after all work was handed back
 *
 * @example
 * ```ts
 * await work({ queue: 'redis://localhost:6379/0', baseUrl: 'https://api.example.com' });
 * ```
 */
export async function work(
  options: WorkOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<WorkerEnd> {
  const known = { of: 'work', declared: WORKER_OPTIONS, others: OTHERS, describe };
  const { settings, profile } = readWithProfile(options, known);
  const { apiKey, signal, onNotice = () => {}, onReady, onProgress } = options;
  const { queue } = settings;
  if (queue === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot work without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
    );
  }
  const api = createApi({ settings, profile, apiKey, env: process.env, describe });
  const callbackGuard = createCallbackGuard([signal]);
  const end = await workOn(
    { ...settings, queue },
    {
      api,
      onNotice: callbackGuard.guard(onNotice),
      onReady: onReady && callbackGuard.guard(onReady),
      onProgress: onProgress && callbackGuard.guard(onProgress),
      signal: callbackGuard.signal,
      describe,
    },
  );
  callbackGuard.throwIfFailed();
  return end;
}

const OTHERS: OptionKinds<BesideSettings> = {
  apiKey: 'text',
  signal: 'signal',
  onNotice: 'function',
  onReady: 'function',
  onProgress: 'function',
};

interface WorkContext {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly onNotice: OnNotice;
  readonly onReady: WorkOptions['onReady'];
  readonly onProgress: WorkOptions['onProgress'];
  /** The name of a setting in messages. */
  readonly describe: (key: string) => string;
}

async function workOn(
  settings: WorkerSettings & { readonly queue: string },
  { api, signal, onNotice, onReady, onProgress, describe }: WorkContext,
): Promise<WorkerEnd> {
  const { queue, acceptEviction = false, concurrency, drain, lostAfter, maxCallsPer } = settings;
  for (const notice of api.notices) onNotice(notice);
  const bullmq = await import('../queue/bullmq/index.ts');
  const closer = createCloser();
  try {
    const status = await openStatus({
      settings,
      describe,
      command: 'worker',
      onNotice,
    });
    if (status) closer.add(status);
    const redis = closer.add(
      await bullmq.openQueueServer({ url: queue, acceptEviction, onNotice }),
    );
    const stopSwitch = stopSwitchOf(signal);
    status?.health.check(() => bullmq.findRedisTrouble(redis));
    status?.health.check(() => (stopSwitch.stopped ? 'it was told to stop' : undefined));
    const id = paceIdOf({ ...api, settings });
    const sharedPace = bullmq.createStoredPace(redis.client, id);
    const callLedger =
      maxCallsPer &&
      bullmq.createSharedCallLedger(redis.client, {
        id: callsIdOf(api),
        limit: maxCallsPer,
        onNotice,
      });
    const instruments = status?.instruments.forWorker();
    instruments?.queues(bullmq.createQueueReader(redis));
    const measure = instruments?.worker;
    const workerOptions = {
      stopSwitch,
      sharedPace,
      callLedger,
      measure,
      now: (): number => taker.now(),
    };
    const local = closer.add(await openLocalWorker(settings, api, workerOptions));
    const { worker, counters } = local;
    status?.health.check(() => local.describeStepBack());
    const { origin } = api.endpoint;
    const proxy = findProxy(origin);
    if (proxy) onNotice(describeProxy(proxy), { level: 'info' });
    const maxWaitMs = settings.maxWait;
    closer.add(watchApi({ worker: local, origin, stopSwitch, maxWaitMs, onNotice }));
    const reporter = onProgress && closer.add(startReportingWork(local, onProgress));
    const taker: ChunkTaker = bullmq.takeChunks({
      redis,
      handle: (chunk, reply, isWanted) =>
        worker.handle(chunk, reporter?.count(reply) ?? reply, isWanted),
      normalize: normalizeDomain,
      api: api.endpoint.queueId,
      concurrency: lookupsAtOnce(concurrency, api.endpoint),
      maxPendingMs: settings.maxPending,
      leaseMs: lostAfter,
      appetite: local.appetite,
      describeStepBack: local.describeStepBack,
      callsMade: () => counters.calls,
      onNotice,
    });
    onNotice(
      `Waiting for lookups on Redis at ${redis.name}; this worker asks ${nameApi(settings)}, API '${api.endpoint.queueId}' on the queue.`,
      { level: 'info' },
    );
    const { client } = redis;
    closer.add(bullmq.watchQueuePause({ client, queue: bullmq.LOOKUPS_QUEUE, onNotice }));
    bullmq.dropStopNotice(redis.client, api.endpoint.queueId).catch(() => {}); // the message has its time
    status?.health.started();
    onReady?.();
    const { noNewCall } = stopSwitch;
    if (!noNewCall.aborted) await Promise.race([once(noNewCall, 'abort'), taker.ended]);
    const stopped = stopSwitch.stopped ?? { reason: 'interrupted' };
    const publishNotice = async (): Promise<void> => {
      if (stopped.reason === 'interrupted') return;
      const left = bullmq.publishStopNotice(
        redis.client,
        api.endpoint.queueId,
        describeStop(stopped),
      );
      // Where Redis does not answer, nobody reads them either.
      await within(STOP_NOTICE_MS, left).catch(() => {});
    };
    const isHandedBack = await handBack(taker, { drain, stopSwitch, publishNotice, onNotice });
    return { stopped, calls: counters.calls, isHandedBack };
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
}

function stopSwitchOf(signal: AbortSignal): StopSwitch {
  const stopSwitch = createStopSwitch();
  const interrupt = (): void => stopSwitch.stop({ reason: 'interrupted' });
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  return stopSwitch;
}

interface HandBackOptions {
  /** How long calls under way may go on, in milliseconds. */
  readonly drain: number;
  readonly stopSwitch: StopSwitch;
  /** Says why this worker stops, for runs that wait. Never rejects. */
  readonly publishNotice: () => Promise<void>;
  readonly onNotice: OnNotice;
}

/** Stops taking chunks, and puts back unfinished work. Returns whether it is on the queue. */
async function handBack(
  taker: ChunkTaker,
  { drain, stopSwitch, publishNotice, onNotice }: HandBackOptions,
): Promise<boolean> {
  const drainTimer = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), drain);
  const isHandedBack = await within(drain + SHUTDOWN_TIMEOUT_MS, taker.stop(publishNotice()));
  clearTimeout(drainTimer);
  if (!isHandedBack)
    onNotice('Redis does not answer: other workers will take over the lookups of this one.');
  return isHandedBack;
}
