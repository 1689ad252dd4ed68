import { type Job, Queue } from 'bullmq';
import { LOOKUPS_QUEUE, PREFIX, QUEUE_OPTIONS } from '../names.ts';
import { pausedKey } from '../runs/paused-runs.ts';
import type { RedisClient } from '../server/redis.ts';

/** All lookups that belong to no run, where a run is named. */
export const BACKFILLS = 'backfills';
/** The chunks that were set aside. */
const ASIDE = `${PREFIX}:aside`;
/**
 * Each worker goes through all that waits, once in so long: often enough that nothing is lost for long
 * when whoever resumes is killed in the midst of it, and so seldom that workers have time for runs.
 */
const ASIDE_FOR_MS = 10 * 60_000;
const BATCH = 200;

/** Has no worker start a call for lookups that belong to no run, until somebody resumes them. */
export async function pauseBackfills(client: RedisClient): Promise<void> {
  await client.set(pausedKey(BACKFILLS), '1');
}

export async function areBackfillsPaused(client: RedisClient): Promise<boolean> {
  return (await client.exists(pausedKey(BACKFILLS))) === 1;
}

/** Lets them start again, and puts all that was set aside back on the queue. */
export async function resumeBackfills(client: RedisClient): Promise<void> {
  await client.del(pausedKey(BACKFILLS));
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...QUEUE_OPTIONS });
  queue.on('error', () => {}); // told by what watches the connection
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

/** It may be gone, or have come back by itself. */
async function putBack(queue: Queue, id: string): Promise<void> {
  const job: Job | undefined = await queue.getJob(id);
  if (job && (await job.isDelayed())) await job.promote().catch(() => {});
}

/** Takes a chunk out of the way of others while backfills are paused; it is on the queue all the while. */
export async function setAside(client: RedisClient, job: Job, token: string): Promise<void> {
  // Noted first: what is noted and not there is harmless, what is there and not noted would wait.
  const id = job.id ?? '';
  await client.sadd(ASIDE, id);
  await job.moveToDelayed(Date.now() + ASIDE_FOR_MS, token);
  // Whoever resumed a moment ago may have looked before.
  if (await areBackfillsPaused(client)) return;
  await job.promote().catch(() => {});
  await client.srem(ASIDE, id);
}

/** How much of the lookups waits, in chunks. */
export interface Backlog {
  /** Those of runs and those that belong to none. */
  readonly waiting: number;
  /** Those that belong to no run and wait until they are resumed. */
  readonly aside: number;
  readonly isPaused: boolean;
}

/** @param queue that of the lookups */
export async function readBacklog(client: RedisClient, queue: Queue): Promise<Backlog> {
  const [isPaused, aside, counts] = await Promise.all([
    areBackfillsPaused(client),
    client.scard(ASIDE),
    queue.getJobCounts('wait', 'prioritized'),
  ]);
  const waiting = (counts['wait'] ?? 0) + (counts['prioritized'] ?? 0);
  return { waiting, aside: isPaused ? aside : 0, isPaused };
}
