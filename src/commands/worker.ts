import { describeProxy, findProxy } from '../brand/proxy.ts';
import { EXIT, type OnNotice } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { aborted, createCallbackGuard, within } from '../common/lifetime.ts';
import { callsIdOf, createApi, nameApi, readWithProfile } from '../options/api.ts';
import { type LOG_FLAGS, WORKER_OPTIONS } from '../options/command-options.ts';
import { callback, secret, signal } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { pendingMs } from '../queue/parking.ts';
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
import { queueUrlOf, withQueue } from './with-queue.ts';

const WORK = {
  ...WORKER_OPTIONS,
  /** The credential. @default BRANDFILL_API_KEY */
  apiKey: secret(),
  /** Stops the worker in order: calls under way are finished, the rest goes back to the queue. */
  signal: signal(),
  /** Called with notices, each worth a line in a log. */
  onNotice: callback<OnNotice>(),
  /** Called once, when it waits for lookups. */
  onReady: callback<() => void>(),
};

/** Options of a worker. Durations are texts such as `'30s'`, or milliseconds. */
export interface WorkOptions extends OptionsOf<typeof WORK> {}

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
  const sources = { given: options, describe };
  const { settings, profile } = readWithProfile('work', WORK, sources);
  queueUrlOf(settings, 'work', describe);
  const api = createApi(settings, profile, sources);
  const callbackGuard = createCallbackGuard([options.signal]);
  const onNotice = callbackGuard.guard(options.onNotice ?? (() => {}));
  const onReady = callbackGuard.guard(options.onReady ?? (() => {}));
  for (const notice of api.notices) onNotice(notice);
  const stopSwitch = stopSwitchOf(callbackGuard.signal);
  const { noNewCall } = stopSwitch;
  const service = { purpose: 'work', command: 'worker', settings, describe } as const;
  const end = await withQueue({ ...service, signal: noNewCall, onNotice }, async (opened) => {
    const { queue, redis, status, closer } = opened;
    let taker: JobTaker | undefined;
    const id = callsIdOf(api);
    const { maxCallsPer: limit, concurrency, drain } = settings;
    status?.metrics.forQueues(queue.createQueueReader(redis));
    const recorder = recordWorker(api.endpoint.profile?.billing?.unit);
    const local = closer.add(
      await openLocalWorker(settings, api, {
        stopSwitch,
        sharedPace: {
          client: redis.client,
          key: queue.paceKey(id),
          slowest: (): Rate | undefined => taker?.slowestRate(),
        },
        callLedger: limit && queue.createSharedCallLedger(redis.client, { id, limit, onNotice }),
        onCall: recorder.answered,
        now: (): number => taker?.now() ?? Date.now(),
      }),
    );
    const { gate, worker, counters } = local;
    status?.metrics.forRun('worker', () => recorder.read(local));
    const findTrouble = (): string | undefined =>
      gate.isSick() ? 'its calls fail here, though they go well elsewhere' : undefined;
    status?.health.check(findTrouble);
    const { origin, queueName } = api.endpoint;
    const proxy = findProxy(origin);
    if (proxy) onNotice(describeProxy(proxy), { level: 'info' });
    closer.add(watchApi({ gate, origin, maxWaitMs: settings.maxWait, onNotice }));
    taker = queue.takeJobs({
      redis,
      handle: (...taken) => worker.handle(...taken),
      normalize: normalizeDomain,
      queue: queueName,
      concurrency: lookupsAtOnce(concurrency, api.endpoint),
      maxPendingMs: pendingMs(settings.maxWait),
      findTrouble,
      signal: noNewCall,
      callsMade: () => counters.calls,
      onNotice,
    });
    onNotice(
      `Waiting for lookups on Redis at ${redis.name}; this worker asks ${nameApi(settings)}, queue '${queueName}'.`,
      { level: 'info' },
    );
    queue.tellUnserved(redis, queueName, onNotice).catch(() => {}); // its work goes on
    status?.health.started();
    onReady();
    await aborted(noNewCall);
    const stopped = stopSwitch.stopped ?? { reason: 'interrupted' };
    const why = stopped.reason === 'interrupted' ? undefined : describeStop(stopped);
    const drainTimer = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), drain);
    const isHandedBack = await within(drain + SHUTDOWN_TIMEOUT_MS, taker.stop(why));
    clearTimeout(drainTimer);
    if (!isHandedBack)
      onNotice('Redis does not answer: other workers will take over the lookups of this one.');
    return { stopped, calls: counters.calls, isHandedBack };
  });
  callbackGuard.throwIfFailed();
  return end;
}

function stopSwitchOf(signal: AbortSignal): StopSwitch {
  const stopSwitch = createStopSwitch();
  const interrupt = (): void => stopSwitch.stop({ reason: 'interrupted' });
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  return stopSwitch;
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
