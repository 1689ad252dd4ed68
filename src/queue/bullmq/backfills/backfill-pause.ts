import { type Job, Queue } from 'bullmq';
import { LOOKUPS_QUEUE, PREFIX, QUEUE_OPTIONS } from '../names.ts';
import { pausedKey } from '../runs/pauses.ts';
import type { RedisClient } from '../server/redis.ts';

/** Stands for all lookups that belong to no run, where a run id is expected. */
export const BACKFILLS = 'backfills';
/** The chunks that are set aside. */
const ASIDE = `${PREFIX}:aside`;
/**
 * How long a chunk is set aside before a worker checks it again. Short enough that little is lost
 * if the process that resumes is killed meanwhile, and long enough that workers have time for runs.
 */
const ASIDE_FOR_MS = 10 * 60_000;
const BATCH = 200;

/** Keeps workers from starting calls for lookups of no run, until these are resumed. */
export async function pauseBackfills(client: RedisClient): Promise<void> {
  await client.set(pausedKey(BACKFILLS), '1');
}

export async function areBackfillsPaused(client: RedisClient): Promise<boolean> {
  return (await client.exists(pausedKey(BACKFILLS))) === 1;
}

/** Resumes lookups of no run, and puts all chunks that were set aside back on the queue. */
export async function resumeBackfills(client: RedisClient): Promise<void> {
  await client.del(pausedKey(BACKFILLS));
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...QUEUE_OPTIONS });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  try {
    for (;;) {
      const ids = (await client.spop(ASIDE, BATCH)) ?? [];
      if (ids.length === 0) return;
      await Promise.all(ids.map((id) => putBack(queue, id)));
    }
  } finally {
    await queue.close();
  }
}

/** The job may be gone or may have come back by itself. */
async function putBack(queue: Queue, id: string): Promise<void> {
  const job: Job | undefined = await queue.getJob(id);
  if (job && (await job.isDelayed())) await job.promote().catch(() => {});
}

/**
 * Sets a chunk aside while backfills are paused. It stays on the queue, but does not block others.
 */
export async function setAside(client: RedisClient, job: Job, token: string): Promise<void> {
  // Noted first: a note without its chunk is harmless, but a chunk without its note would keep
  // waiting.
  const id = job.id ?? '';
  await client.sadd(ASIDE, id);
  await job.moveToDelayed(Date.now() + ASIDE_FOR_MS, token);
  // A process that resumed a moment ago may have read the set before.
  if (await areBackfillsPaused(client)) return;
  await job.promote().catch(() => {});
  await client.srem(ASIDE, id);
}

/** How many chunks of lookups wait. */
export interface Backlog {
  /** Chunks of runs and of no run. */
  readonly waiting: number;
  /** Chunks of no run that wait until they are resumed. */
  readonly aside: number;
  readonly isPaused: boolean;
}

/** @param queue the queue of lookups */
export async function readBacklog(client: RedisClient, queue: Queue): Promise<Backlog> {
  const [isPaused, aside, counts] = await Promise.all([
    areBackfillsPaused(client),
    client.scard(ASIDE),
    queue.getJobCounts('wait', 'prioritized'),
  ]);
  const waiting = (counts['wait'] ?? 0) + (counts['prioritized'] ?? 0);
  return { waiting, aside: isPaused ? aside : 0, isPaused };
}
