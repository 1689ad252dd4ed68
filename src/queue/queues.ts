import { Queue } from 'bullmq';
import type { OnNotice } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { QUEUE_OPTIONS, QUEUES_KEY, streamKey } from './names.ts';
import { isAway, type RedisClient, type RedisServer, timeOf } from './redis.ts';
import { readWorkers } from './workers.ts';

/** States that a job on a queue may be in. */
export const JOB_STATES = ['wait', 'prioritized', 'active', 'delayed', 'failed'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** How many jobs are on the queue of an API. */
export interface QueueDepth {
  readonly queue: string;
  readonly jobs: Readonly<Record<JobState, number>>;
  /** The age of the job that has waited longest, in milliseconds; 0 when none waits. */
  readonly oldestMs: number;
  /** Batches of outcomes of its backfills that nobody has collected. */
  readonly uncollected: number;
  /** Workers that serve it, on all machines. */
  readonly workers: number;
  /** Whether somebody has paused it. */
  readonly isPaused: boolean;
}

/** The jobs that wait on a Redis, and the workers that take them. */
export interface QueueReading {
  readonly queues: readonly QueueDepth[];
  readonly workers: number;
}

/** Undefined when Redis does not answer. */
export type ReadQueues = () => Promise<QueueReading | undefined>;

/** All queues of lookups on a Redis, each opened once. */
export interface AllQueues {
  find(): Promise<readonly Queue[]>;
  close(): Promise<void>;
}

export function openAllQueues(client: RedisClient): AllQueues {
  const open = new Map<string, Queue>();
  return {
    find: async () => {
      const names = await client.smembers(QUEUES_KEY);
      for (const name of names.filter((each) => !open.has(each))) {
        const options = { connection: client, ...QUEUE_OPTIONS, skipMetasUpdate: true };
        const queue = new Queue(name, options);
        queue.on('error', () => {}); // errors of the connection are reported elsewhere
        open.set(name, queue);
      }
      return names.toSorted().flatMap((name) => open.get(name) ?? []);
    },
    close: async () => {
      await Promise.all([...open.values()].map((queue) => queue.close()));
    },
  };
}

/** Reads the queues that all processes on a Redis share. */
export function createQueueReader({ client }: RedisServer): ReadQueues {
  const all = openAllQueues(client);
  return async () => {
    if (isAway(client)) return undefined;
    const [nowMs, workers] = await Promise.all([timeOf(client), readWorkers(client)]);
    const serving = workers.filter(({ stopped }) => stopped === undefined);
    const queues = (await all.find()).map(async (queue): Promise<QueueDepth> => {
      const [counts, isPaused, uncollected, ...first] = await Promise.all([
        queue.getJobCounts(...JOB_STATES),
        queue.isPaused(),
        client.xlen(streamKey(queue.name)),
        queue.getJobs(['wait'], 0, 0, true),
        queue.getJobs(['prioritized'], 0, 0, true),
      ]);
      const jobs = Object.fromEntries(JOB_STATES.map((state) => [state, counts[state] ?? 0]));
      const ages = first.flat().map((job) => nowMs - (job?.timestamp ?? nowMs));
      return {
        queue: queue.name,
        jobs: jobs as Record<JobState, number>,
        oldestMs: Math.max(0, ...ages),
        uncollected,
        workers: serving.filter((worker) => worker.queue === queue.name).length,
        isPaused,
      };
    });
    return { workers: serving.length, queues: await Promise.all(queues) };
  };
}

/** Says on which other queues lookups wait that nobody takes, as after a change of a profile's rules. */
export async function tellUnserved(
  redis: RedisServer,
  own: string,
  onNotice: OnNotice,
): Promise<void> {
  await redis.client.ping(); // the connection may just be opened
  for (const { queue, jobs, workers } of (await createQueueReader(redis)())?.queues ?? []) {
    const waiting = jobs.wait + jobs.prioritized + jobs.delayed;
    if (queue === own || workers > 0 || waiting === 0) continue;
    onNotice(
      `No worker serves the queue '${queue}', on which ${countOf(waiting, 'job')} wait: it is of another API, or of a profile with other rules.`,
    );
  }
}
