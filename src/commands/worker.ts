import { once } from 'node:events';
import { describeProxy, findProxy } from '../brand/proxy.ts';
import { BrandfillError, EXIT, type OnNotice } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { createCallbackGuard, createCloser, within } from '../common/lifetime.ts';
import { type Api, callsIdOf, createApi, nameApi, readWithProfile } from '../options/api.ts';
import { type LOG_FLAGS, WORKER_OPTIONS, type WorkerSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { libraryNaming, type OptionKinds } from '../options/read-options.ts';
import { openStatus } from '../page/status.ts';
import { toQueueError } from '../queue/redis-errors.ts';
import type { JobTaker } from '../queue/take-jobs.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { watchApi } from '../run/api-watch.ts';
import { openLocalWorker } from '../run/local-worker.ts';
import { describeStop } from '../watch/describe.ts';
import { recordWorker } from '../watch/record-run.ts';
import { lookupsAtOnce } from '../worker/batches.ts';
import type { Rate } from '../worker/rate.ts';
import { createStopSwitch, type Stop, type StopSwitch } from '../worker/stop-switch.ts';
import { type RunCommand, serve } from './command.ts';

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
  const { apiKey, signal, onNotice = () => {}, onReady } = options;
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
};

interface WorkContext {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly onNotice: OnNotice;
  readonly onReady: WorkOptions['onReady'];
  /** The name of a setting in messages. */
  readonly describe: (key: string) => string;
}

async function workOn(
  settings: WorkerSettings & { readonly queue: string },
  { api, signal, onNotice, onReady, describe }: WorkContext,
): Promise<WorkerEnd> {
  const { queue, acceptEviction = false, concurrency, drain, maxCallsPer } = settings;
  for (const notice of api.notices) onNotice(notice);
  const bullmq = await import('../queue/index.ts');
  const closer = createCloser();
  let taker: JobTaker | undefined;
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
    const id = callsIdOf(api);
    const sharedPace = {
      client: redis.client,
      key: bullmq.paceKey(id),
      slowest: (): Rate | undefined => taker?.slowestRate(),
    };
    const callLedger =
      maxCallsPer &&
      bullmq.createSharedCallLedger(redis.client, {
        id,
        limit: maxCallsPer,
        onNotice,
      });
    status?.metrics.forQueues(bullmq.createQueueReader(redis));
    const recorder = recordWorker(api.endpoint.profile?.billing?.unit);
    const workerOptions = {
      stopSwitch,
      sharedPace,
      callLedger,
      onCall: recorder.answered,
      now: (): number => taker?.now() ?? Date.now(),
    };
    const local = closer.add(await openLocalWorker(settings, api, workerOptions));
    const { worker, counters } = local;
    status?.metrics.forRun('worker', () => recorder.read(local));
    status?.health.check(() => (local.gate.isSick() ? SICK : undefined));
    const { origin } = api.endpoint;
    const proxy = findProxy(origin);
    if (proxy) onNotice(describeProxy(proxy), { level: 'info' });
    const maxWaitMs = settings.maxWait;
    closer.add(watchApi({ gate: local.gate, origin, maxWaitMs, onNotice }));
    taker = bullmq.takeJobs({
      redis,
      handle: (...taken) => worker.handle(...taken),
      normalize: normalizeDomain,
      queue: api.endpoint.queueName,
      concurrency: lookupsAtOnce(concurrency, api.endpoint),
      maxPendingMs: settings.maxPending,
      isSick: () => local.gate.isSick(),
      describeTrouble: () => (local.gate.isSick() ? SICK : undefined),
      signal: stopSwitch.noNewCall,
      callsMade: () => counters.calls,
      onNotice,
    });
    onNotice(
      `Waiting for lookups on Redis at ${redis.name}; this worker asks ${nameApi(settings)}, queue '${api.endpoint.queueName}'.`,
      { level: 'info' },
    );
    bullmq.tellUnserved(redis, api.endpoint.queueName, onNotice).catch(() => {}); // its work goes on
    status?.health.started();
    onReady?.();
    const { noNewCall } = stopSwitch;
    if (!noNewCall.aborted) await once(noNewCall, 'abort');
    const stopped = stopSwitch.stopped ?? { reason: 'interrupted' };
    const why = stopped.reason === 'interrupted' ? undefined : describeStop(stopped);
    const isHandedBack = await handBack(taker, { drain, stopSwitch, why, onNotice });
    return { stopped, calls: counters.calls, isHandedBack };
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
}

const SICK = 'its calls fail here, though they go well elsewhere';

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
  /** Why this worker stops by itself, for runs that wait. */
  readonly why: string | undefined;
  readonly onNotice: OnNotice;
}

/** Stops taking chunks, and puts back unfinished work. Returns whether it is on the queue. */
async function handBack(
  taker: JobTaker,
  { drain, stopSwitch, why, onNotice }: HandBackOptions,
): Promise<boolean> {
  const drainTimer = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), drain);
  const isHandedBack = await within(drain + SHUTDOWN_TIMEOUT_MS, taker.stop(why));
  clearTimeout(drainTimer);
  if (!isHandedBack)
    onNotice('Redis does not answer: other workers will take over the lookups of this one.');
  return isHandedBack;
}

/** `brandfill worker` */
export const runWorker: RunCommand<typeof LOG_FLAGS> = async ({ options, ...call }) =>
  await serve(
    'worker',
    call,
    async ({ log, say, common }) => {
      const { stopped, calls, isHandedBack } = await work({ ...options, ...common }, flagOf);
      const isAsked = stopped.reason === 'interrupted';
      if (!isAsked) log.write('error', describeStop(stopped), { reason: stopped.reason });
      const rest = isHandedBack ? '; any unfinished lookups are back on the queue' : '';
      say(`Stopped after ${countOf(calls, 'call')}${rest}.`);
      return isAsked ? EXIT.ok : EXIT.stopped;
    },
    'Stopping: no further call is made, calls in flight are finished. Interrupt again to end at once.',
  );
