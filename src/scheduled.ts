import { BrandfillError } from './common/errors.ts';
import { SCHEDULE_OPTIONS } from './options/command-options.ts';
import { checkOptions, libraryNaming } from './options/read-options.ts';
import type { ScheduleQueue } from './queue/bullmq/schedules/schedule-queue.ts';
import { toQueueError } from './queue/bullmq/server/reasons.ts';
import type { RedisServer } from './queue/bullmq/server/redis.ts';
import { foldersOf, groupOf, readPlace, type SchedulePlace } from './schedule/group.ts';
import { listGroup, type ScheduledJob } from './schedule/list-schedules.ts';

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
      const isKept = (await bullmq.findKeepers(redis.client, group)).length > 0;
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
  readonly bullmq: typeof import('./queue/bullmq/index.ts');
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
  const bullmq = await import('./queue/bullmq/index.ts');
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
