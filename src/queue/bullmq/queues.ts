import { Queue } from 'bullmq';
import type { OnNotice } from '../../common/errors.ts';
import type { Closable } from '../../common/lifetime.ts';
import { startHeartbeat } from '../../common/owner.ts';
import { countWorkers } from './chunks/heartbeats.ts';
import { LOOKUPS_QUEUE, OUTCOMES_QUEUE, PREFIX, QUEUE_OPTIONS } from './names.ts';
import { scheduleQueueName } from './schedule-queue.ts';
import { findGroups } from './schedule-worker.ts';
import { type RedisClient, type RedisServer, timeOf } from './server/redis.ts';

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

/** All queues on a Redis, for reading them. */
interface AllQueues {
  /** Returns the queues of lookups, of outcomes and of each group of schedules. */
  find(): Promise<readonly Queue[]>;
  readonly lookups: Queue;
  close(): Promise<void>;
}

/** Opens each queue once, and keeps it open. */
export function openAllQueues(client: RedisClient): AllQueues {
  const open = new Map<string, Queue>();

  function openQueue(name: string): Queue {
    const known = open.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: client, ...QUEUE_OPTIONS });
    queue.on('error', () => {}); // errors of the connection are reported elsewhere
    open.set(name, queue);
    return queue;
  }

  return {
    lookups: openQueue(LOOKUPS_QUEUE),
    find: async () => {
      const groups = await findGroups(client);
      return [LOOKUPS_QUEUE, OUTCOMES_QUEUE, ...groups.map(scheduleQueueName)].map(openQueue);
    },
    close: async () => {
      await Promise.all([...open.values()].map((queue) => queue.close()));
    },
  };
}

const POLL_MS = 5_000;

interface QueuePauseWatchOptions {
  readonly client: RedisClient;
  readonly queue: typeof LOOKUPS_QUEUE | typeof OUTCOMES_QUEUE;
  readonly onNotice: OnNotice;
}

/**
 * Reports when a whole queue is paused by other means, until the watch is closed. Nothing is then
 * taken from the queue, as if it were empty.
 */
export function watchQueuePause({ client, queue, onNotice }: QueuePauseWatchOptions): Closable {
  // The field in which BullMQ's `pause()` notes it. `obliterate()` sets it too, and leaves it set
  // when it is refused.
  const meta = `${PREFIX}:${queue}:meta`;
  let wasPaused = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const isPaused = (await client.hexists(meta, 'paused')) === 1;
    if (isClosed || isPaused === wasPaused) return;
    wasPaused = isPaused;
    if (isPaused) {
      onNotice(
        `The queue of ${queue} was paused through BullMQ: nothing is taken from it until it is resumed with Queue.resume().`,
      );
    } else onNotice(`The queue of ${queue} is no longer paused.`, { level: 'info' });
  }

  const heartbeat = startHeartbeat(POLL_MS, look);
  return {
    close: async () => {
      isClosed = true;
      heartbeat.close();
    },
  };
}
