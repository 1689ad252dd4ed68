import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import {
  createCallbackGuard,
  createCloser,
  SHUTDOWN_TIMEOUT_MS,
  within,
} from '../common/lifetime.ts';
import { describeOwner, describeSelf, isHere } from '../common/owner.ts';
import { openStatus } from '../metrics/status.ts';
import { SCHEDULE_OPTIONS } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { checkOptions, libraryNaming, type OptionKinds } from '../options/read-options.ts';
import type { ScheduleQueue } from '../queue/bullmq/schedule-queue.ts';
import type { ScheduleProcess } from '../queue/bullmq/schedule-worker.ts';
import type { RedisServer } from '../queue/bullmq/server/redis.ts';
import { toQueueError } from '../queue/bullmq/server/refusals.ts';
import {
  foldersOf,
  groupOf,
  listGroup,
  readPlace,
  type ScheduledJob,
  type SchedulePlace,
} from '../schedule/group.ts';
import { createScheduler, openScheduledFiles } from '../schedule/schedules.ts';
import { serveSchedules } from '../schedule/serve-schedules.ts';
import type { RunEvent } from '../watch/events.ts';

/** Options of a schedule. */
export interface ScheduleOptions extends OptionsOf<typeof SCHEDULE_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** Paths of job files. Files without `schedule` are ignored. */
  readonly files: readonly string[];
  /** Stops in order: runs under way end early, keep what they found, and are made again later. */
  readonly signal?: AbortSignal | undefined;
  /** Called with notices, each worth a line in a log. */
  readonly onNotice?: OnNotice | undefined;
  /** Called with each event of a run, and with the id of the run in logs. */
  readonly onRunEvent?: ((job: string, event: RunEvent, run: string) => void) | undefined;
  /** Called when a run is over. */
  readonly onRunEnd?: ((job: string) => void) | undefined;
}

/**
 * Runs job files at their times, until it is told to stop. The schedules are kept in Redis. A job
 * that is due while it still runs is skipped. A job that was due while no process was there is run
 * once when one is back. Several processes may do this with the same files: each run is made by one
 * of them.
 *
 * @throws BrandfillError when an option, a file or the queue cannot be used; the error that a
 *   callback threw, after runs under way were given back
 *
 * @example
 * ```ts
 * await schedule({ files: ['jobs/nightly-crm.yaml'], queue: 'redis://localhost:6379/0' });
 * ```
 */
export async function schedule(
  options: ScheduleOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<void> {
  checkOptions(options, {
    of: 'schedule',
    declared: SCHEDULE_OPTIONS,
    others: OTHERS,
    describe,
  });
  const callbackGuard = createCallbackGuard([options.signal]);
  const { onNotice: notify = () => {}, onRunEvent = () => {}, onRunEnd = () => {} } = options;
  const onNotice = callbackGuard.guard(notify);
  const { url, settings } = readPlace(options, describe);
  const scheduled = openScheduledFiles(options.files, { env: process.env, onNotice });
  const wanted = await scheduled.readAll();
  const group = groupOf(await foldersOf(options.files), settings.name);
  // Loaded here, so that an error in the options need not wait for it.
  const bullmq = await import('../queue/bullmq/index.ts');
  const closer = createCloser();
  try {
    const { acceptEviction = false } = settings;
    const status = await openStatus({
      settings,
      describe,
      command: 'schedule',
      onNotice,
    });
    if (status) closer.add(status);
    const redis = closer.add(await bullmq.openQueueServer({ url, acceptEviction, onNotice }));
    const me = { owner: describeSelf(), jobs: [...scheduled.files.keys()].sort() };
    const onClock = createClockNotice(onNotice);
    const heartbeat = await bullmq.startScheduleHeartbeat(redis.client, group, me, onClock);
    closer.add({ close: async () => void (await within(SHUTDOWN_TIMEOUT_MS, heartbeat.close())) });
    refuseOtherFiles(me, await bullmq.findScheduleProcesses(redis.client, group.name), group.name);
    const queue = bullmq.openScheduleQueue(redis.client, group.name);
    closer.add({ close: async () => void (await within(SHUTDOWN_TIMEOUT_MS, queue.close())) });
    const scheduler = createScheduler({ wanted, queue, onNotice });
    await scheduler.start();
    if (wanted.size === 0) {
      await bullmq.dropGroup(redis.client, group.name);
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot schedule anything: none of the files has a 'schedule', such as { cron: '30 2 * * *' }.`,
      );
    }
    onNotice(
      `Keeping the schedules '${group.name}' on Redis at ${redis.name}: ${[...wanted.keys()].join(', ')}.`,
      { level: 'info' },
    );
    status?.health.check(() => bullmq.findRedisTrouble(redis));
    status?.health.check(() => (callbackGuard.signal.aborted ? 'it was told to stop' : undefined));
    const results = bullmq.openScheduleResults(redis.client, group.name);
    status?.instruments.forSchedules(async () => {
      if (redis.client.status !== 'ready') return []; // without a connection, a command would wait
      return await listGroup({ group: group.name, queue, results, isKept: true });
    });
    const endQueues = status?.instruments.forWorker().queues(bullmq.createQueueReader(redis));
    closer.add({ close: async () => endQueues?.() });
    status?.health.started();
    await serveSchedules({
      ...options,
      signal: callbackGuard.signal,
      redis,
      group: group.name,
      queue,
      results,
      instruments: status?.instruments,
      url,
      takeRuns: bullmq.takeRuns,
      scheduled,
      scheduler,
      leaseMs: settings.lostAfter,
      onNotice,
      onRunEvent: callbackGuard.guard(onRunEvent),
      onRunEnd: callbackGuard.guard(onRunEnd),
    });
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
  callbackGuard.throwIfFailed();
}

const OTHERS: OptionKinds<BesideSettings> = {
  files: 'files',
  signal: 'signal',
  onNotice: 'function',
  onRunEvent: 'function',
  onRunEnd: 'function',
};

/**
 * Other processes may keep the same schedules, but only of the same files. Otherwise each would
 * remove those of the other.
 */
function refuseOtherFiles(
  me: ScheduleProcess,
  processes: readonly ScheduleProcess[],
  group: string,
): void {
  const other = processes.find(
    ({ owner, jobs }) => jobs.join() !== me.jobs.join() && isHere(owner, me.owner) !== false,
  );
  if (!other) return;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot keep the schedules '${group}': ${describeOwner(other.owner)} keeps them, with other files (${other.jobs.join(', ')}); give both the same files, or one of them a --name of its own.`,
  );
}

export interface ListSchedulesOptions extends SchedulePlace {
  /** Lists only the group of these files. @default all groups */
  readonly files?: readonly string[] | undefined;
}

/**
 * Lists what is scheduled, when it is due next, and how its runs ended.
 *
 * @throws BrandfillError when an option, a file or the queue cannot be used
 */
export async function listSchedules(
  options: ListSchedulesOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<readonly ScheduledJob[]> {
  checkOptions(options, { of: 'listSchedules', ...KNOWN, describe });
  return await withGroups(options, describe, async ({ groups, bullmq, redis }) => {
    const listed: ScheduledJob[] = [];
    for (const group of groups) {
      const results = bullmq.openScheduleResults(redis.client, group);
      const isKept = (await bullmq.findScheduleProcesses(redis.client, group)).length > 0;
      const list = (queue: ScheduleQueue) => listGroup({ group, queue, results, isKept });
      listed.push(...(await bullmq.withScheduleQueue(redis.client, group, list)));
    }
    return listed;
  });
}

/**
 * Requests a run of a scheduled job now, from the process that keeps its schedule.
 *
 * @returns false when a run is already going on or requested
 * @throws BrandfillError when an option or the queue cannot be used, or there is no such job
 */
export async function runScheduled(
  job: string,
  options: ListSchedulesOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<boolean> {
  checkOptions(options, { of: 'runScheduled', ...KNOWN, describe });
  return await withGroups(options, describe, async ({ groups, bullmq, redis }) => {
    const found: string[] = [];
    const known: string[] = [];
    for (const group of groups) {
      const schedules = await bullmq.withScheduleQueue(redis.client, group, (queue) =>
        queue.read(),
      );
      known.push(...schedules.keys());
      if (schedules.has(job)) found.push(group);
    }
    const [group, other] = found;
    if (group === undefined || other !== undefined)
      throw noSuchJob(job, { found, known }, describe);
    return await bullmq.withScheduleQueue(redis.client, group, (queue) =>
      queue.ask({ job, why: 'asked', dueAtMs: Date.now() }),
    );
  });
}

const KNOWN = { declared: SCHEDULE_OPTIONS, others: { files: 'texts' } } as const;

function noSuchJob(
  job: string,
  { found, known }: { readonly found: readonly string[]; readonly known: readonly string[] },
  describe: (key: string) => string,
): BrandfillError {
  const why =
    found.length > 1
      ? `it is in ${found.join(' and ')}; say which with ${describe('name')}`
      : `it is not scheduled; there are: ${known.toSorted().join(', ') || 'none'}`;
  return new BrandfillError('INVALID_SETTING', `Cannot run ${job}: ${why}.`);
}

interface OpenedGroups {
  readonly groups: readonly string[];
  readonly bullmq: typeof import('../queue/bullmq/index.ts');
  readonly redis: RedisServer;
}

async function withGroups<T>(
  options: ListSchedulesOptions,
  describe: (key: string) => string,
  work: (opened: OpenedGroups) => Promise<T>,
): Promise<T> {
  const { url, settings } = readPlace(options, describe);
  const { name, acceptEviction = false } = settings;
  const { files = [] } = options;
  const bullmq = await import('../queue/bullmq/index.ts');
  const redis = await bullmq.openQueueServer({ url, acceptEviction, onNotice: () => {} });
  try {
    const isOne = name !== undefined || files.length > 0;
    const groups = isOne
      ? [groupOf(await foldersOf(files), name).name]
      : await bullmq.findGroups(redis.client);
    return await work({ groups, bullmq, redis });
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await redis.close();
  }
}

/** A smaller difference does no harm: most crons name minutes. */
const OFF_MS = 60_000;

/**
 * Reports when the clock of this machine differs from that of Redis, and when it no longer does.
 * BullMQ makes jobs due by the clock of whichever machine is ahead.
 *
 * @returns a function to call again and again with how far the clock is ahead, in milliseconds
 */
export function createClockNotice(onNotice: OnNotice): (aheadMs: number) => void {
  let wasOff = false;
  return (aheadMs) => {
    const isOff = Math.abs(aheadMs) > OFF_MS;
    if (isOff && !wasOff) onNotice(describe(aheadMs));
    if (!isOff && wasOff) {
      onNotice('The clock of this machine is right again.', { level: 'info' });
    }
    wasOff = isOff;
  };
}

function describe(aheadMs: number): string {
  const off = formatDuration(Math.abs(aheadMs));
  return aheadMs > 0
    ? `The clock of this machine is ${off} ahead of that of Redis: jobs start that much too early, and if this machine goes away, the next ones start that much too late. Set its clock, for example by NTP.`
    : `The clock of this machine is ${off} behind that of Redis: jobs that only this machine keeps start that much too late. Set its clock, for example by NTP.`;
}
