import { type Job, type JobJson, Worker } from 'bullmq';
import { PREFIX } from './names.ts';
import type { RedisClient } from './server/redis.ts';

/** Fields of a job, apart from its data, that BullMQ reads as JSON. It throws on invalid JSON. */
const READ = ['opts', 'progress', 'parent'] as const;
/** Fields that a chunk or a reply can do without. */
const EXTRAS = ['progress', 'parent', 'stacktrace', 'returnvalue'];

/** Whether a job could not be read. Redis and its connection fail with other errors. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError;
}

export interface MendUnreadableOptions {
  readonly client: RedisClient;
  readonly queue: string;
  /** Whether this worker has taken a job, by the token with which it was taken. */
  readonly isOurs: (token: string) => boolean;
}

/**
 * Removes invalid JSON from jobs that were taken here, and releases them. Such jobs were written by
 * hand. No worker could read them, and they would come again whenever their lock expires.
 *
 * @returns the ids of the mended jobs
 */
export async function mendUnreadable(options: MendUnreadableOptions): Promise<readonly string[]> {
  const { client, queue, isOurs } = options;
  const prefix = `${PREFIX}:${queue}:`;
  const active = await client.lrange(`${prefix}active`, 0, -1);
  if (active.length === 0) return [];
  const tokens = await client.mget(active.map((id) => `${prefix}${id}:lock`));
  const mended: string[] = [];
  for (const [at, id] of active.entries()) {
    const key = prefix + id;
    const token = tokens[at];
    if (typeof token !== 'string' || !isOurs(token)) continue;
    if (canRead(await client.hmget(key, ...READ))) continue;
    await client
      .multi()
      .hset(key, 'opts', '{}')
      .hdel(key, ...EXTRAS)
      .del(`${key}:lock`)
      .exec();
    mended.push(id);
  }
  return mended;
}

function canRead([opts, ...others]: readonly (string | null)[]): boolean {
  try {
    for (const text of others) JSON.parse(text || '0');
    return JSON.parse(opts || '{}') !== null;
  } catch {
    return false;
  }
}

/**
 * Turns a job that is not JSON into one whose data are a text, which no chunk and no reply is. If
 * taking it failed instead, it would come again and again, and its id would stay unknown.
 */
export class AnyDataWorker extends Worker<unknown> {
  protected override createJob(json: JobJson, id: string): Job<unknown> {
    try {
      return super.createJob(json, id);
    } catch {
      return super.createJob({ ...json, data: JSON.stringify(json.data) }, id);
    }
  }
}
