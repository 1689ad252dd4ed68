import { Queue } from 'bullmq';
import { countWorkers } from './chunks/presence.ts';
import { LOOKUPS_QUEUE, OUTCOMES_QUEUE, QUEUE_OPTIONS } from './names.ts';
import type { RedisServer } from './server/redis.ts';
import { timeOf } from './server/server-time.ts';

/** States that a job on a queue may be in. */
export const JOB_STATES = ['wait', 'prioritized', 'active', 'delayed', 'failed'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** How many jobs are on a queue. */
export interface QueueDepth {
  readonly queue: 'lookups' | 'outcomes';
  readonly jobs: Readonly<Record<JobState, number>>;
  /** The age of the job that has waited longest, in milliseconds; 0 when none waits. */
  readonly oldestMs: number;
}

/** The jobs that wait on a Redis, and the workers that take them. */
export interface QueueReading {
  readonly queues: readonly QueueDepth[];
  /** Workers on all machines. */
  readonly workers: number;
}

/** Undefined when Redis does not answer. */
export type ReadQueues = () => Promise<QueueReading | undefined>;

const NAMES = [LOOKUPS_QUEUE, OUTCOMES_QUEUE] as const;

/** Reads the queues that all processes on a Redis share. */
export function createQueueReader({ client }: RedisServer): ReadQueues {
  const queues = NAMES.map((name) => {
    const options = { connection: client, ...QUEUE_OPTIONS, skipMetasUpdate: true };
    const queue = new Queue(name, options);
    queue.on('error', () => {}); // errors of the connection are reported elsewhere
    return { name, queue };
  });
  return async () => {
    // Without a connection, a command would wait until there is one.
    if (client.status !== 'ready') return undefined;
    const nowMs = await timeOf(client);
    const [workers, ...depths] = await Promise.all([
      countWorkers(client),
      ...queues.map(async ({ name, queue }) => await depthOf(name, queue, nowMs)),
    ]);
    return { workers, queues: depths };
  };
}

async function depthOf(
  name: QueueDepth['queue'],
  queue: Queue,
  nowMs: number,
): Promise<QueueDepth> {
  const [counts, firstInLine, firstByPriority] = await Promise.all([
    queue.getJobCounts(...JOB_STATES),
    queue.getJobs(['wait'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, 0, true),
  ]);
  const waiting = [...firstInLine, ...firstByPriority].filter((job) => job !== undefined);
  const jobs = Object.fromEntries(JOB_STATES.map((state) => [state, counts[state] ?? 0]));
  return {
    queue: name,
    jobs: jobs as Record<JobState, number>,
    oldestMs: Math.max(0, ...waiting.map(({ timestamp }) => nowMs - timestamp)),
  };
}
