import { describeProxy, findProxy } from '../../brand/proxy.ts';
import { createSharedBudget } from '../../calls/budget.ts';
import type { Reply } from '../../calls/lookup-queue.ts';
import { createOutcomeCounts } from '../../calls/outcome.ts';
import { EXIT } from '../../common/errors.ts';
import { countOf } from '../../common/format.ts';
import { aborted, within } from '../../common/lifetime.ts';
import { duration } from '../../options/kinds.ts';
import { option, under } from '../../options/option.ts';
import { CALL_OPTIONS, inFlags, QUEUE_OPTIONS, STATUS_OPTIONS } from '../../options/options.ts';
import { callsIdOf, createApi, nameApi } from '../../profile/job.ts';
import { pendingMs } from '../../queue/parking.ts';
import type { JobTaker } from '../../queue/take-jobs.ts';
import { watchApi } from '../../run/api-watch.ts';
import { openLocalWorker } from '../../run/local-worker.ts';
import { describeStop } from '../../watch/describe.ts';
import { recordWorker } from '../../watch/record-run.ts';
import { lookupsAtOnce } from '../../worker/batches.ts';
import { createStopSwitch } from '../../worker/stop-switch.ts';
import { type Call, defineCommand, LOG_OPTIONS } from './command.ts';
import { type QueueService, serveQueue } from './with-queue.ts';

const WORKER_OPTIONS = {
  ...QUEUE_OPTIONS,
  ...CALL_OPTIONS,
  ...under('Workers on a queue', {
    drain: option(duration(), {
      default: '25s',
      help: 'how long calls in flight may still take once the worker is stopped',
    }),
  }),
  ...STATUS_OPTIONS,
  ...LOG_OPTIONS,
};

/** Redis may be away when a worker is stopped. Others then find its outcomes in the log. */
const HAND_BACK_MS = 10_000;

/**
 * `brandfill worker`: takes chunks from a queue on Redis, for any number of runs and backfills,
 * until it is stopped or the API refuses the credential or has no quota left.
 */
export const worker = defineCommand(WORKER_OPTIONS, async (call) => {
  const api = createApi(call.settings, call.profile);
  return await serveQueue(call, async (opened) => await work(call, api, opened));
});

async function work(
  { settings }: Call<typeof WORKER_OPTIONS>,
  api: ReturnType<typeof createApi>,
  { queue, redis, status, closer, log, signal, onNotice, say }: QueueService,
): Promise<number> {
  const stopSwitch = createStopSwitch();
  const { noNewCall } = stopSwitch;
  signal.addEventListener('abort', () => stopSwitch.stop({ reason: 'interrupted' }));
  if (signal.aborted) stopSwitch.stop({ reason: 'interrupted' });
  for (const notice of api.notices) onNotice(notice);
  let taker: JobTaker | undefined;
  const id = callsIdOf(api);
  const { maxCallsPer: limit, concurrency, maxWait, drain } = settings;
  const ledger = limit && queue.createSharedCallLedger(redis, id, limit);
  status?.metrics.forQueues(queue.createQueueReader(redis));
  const recorder = recordWorker(api.endpoint.profile?.billing?.unit);
  const local = closer.add(
    await openLocalWorker(settings, api, {
      stopSwitch,
      sharedPace: {
        redis,
        key: queue.paceKey(id),
        slowest: () => taker?.slowestRate(),
      },
      budgets: ledger ? [createSharedBudget({ ledger, now: Date.now })] : [],
      onCall: recorder.answered,
      onNotice,
      now: () => taker?.now() ?? Date.now(),
    }),
  );
  const { gate, counters } = local;
  const outcomes = createOutcomeCounts();
  status?.metrics.forRun('worker', () => recorder.read({ gate, counters, outcomes }));
  const findTrouble = (): string | undefined =>
    gate.isSick() ? 'its calls fail here, though they go well elsewhere' : undefined;
  status?.health.check(findTrouble);
  const { origin, queueName } = api.endpoint;
  const proxy = findProxy(origin);
  if (proxy) say(describeProxy(proxy));
  closer.add(watchApi({ gate, origin, maxWaitMs: maxWait, onNotice }));
  taker = new queue.JobTaker({
    redis,
    handle: (chunk, reply, isWanted) => {
      const counted: Reply = (all) => {
        for (const { status } of all) outcomes[status] += 1;
        return reply(all);
      };
      return local.worker.handle(chunk, counted, isWanted);
    },
    api: nameApi(settings),
    queue: queueName,
    concurrency: lookupsAtOnce(concurrency, api.endpoint),
    useful: local.useful,
    maxPendingMs: pendingMs(maxWait),
    findTrouble,
    signal: noNewCall,
    callsMade: () => counters.calls,
    onNotice,
  });
  say(
    `Waiting for lookups on Redis at ${redis.name}; this worker asks ${nameApi(settings)}, queue '${queueName}'.`,
  );
  status?.health.started();
  await aborted(noNewCall);
  const stopped = stopSwitch.stopped ?? { reason: 'interrupted' };
  const isAsked = stopped.reason === 'interrupted';
  const why = isAsked ? undefined : inFlags(describeStop(stopped));
  const late = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), drain);
  const isHandedBack = await within(drain + HAND_BACK_MS, taker.stop(why));
  clearTimeout(late);
  if (!isHandedBack)
    onNotice('Redis does not answer: other workers will take over the lookups of this one.');
  if (why !== undefined) log.write('error', why, { reason: stopped.reason });
  const rest = isHandedBack ? '; any unfinished lookups are back on the queue' : '';
  say(`Stopped after ${countOf(counters.calls, 'call')}${rest}.`);
  return isAsked ? EXIT.ok : EXIT.stopped;
}
