import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { timeOf } from '../server/server-time.ts';

/** Why a worker stopped by itself. */
export interface LastWords {
  /** For people, in a sentence. */
  readonly why: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Whoever waits for longer looks at the workers. */
const KEPT_MS = 24 * 60 * 60_000;

/** Leaves word for the runs that wait for lookups of an API: all that is known where no worker is left. */
export async function leaveLastWords(client: RedisClient, api: string, why: string): Promise<void> {
  const words: LastWords = { why, atMs: await timeOf(client) };
  await client.set(keyOf(api), JSON.stringify(words), 'PX', KEPT_MS);
}

/** What the last worker that stopped by itself left, unless another one has come since. */
export async function findLastWords(
  client: RedisClient,
  api: string,
): Promise<LastWords | undefined> {
  const text = await client.get(keyOf(api));
  return typeof text === 'string' ? (JSON.parse(text) as LastWords) : undefined;
}

/** There is a worker again. */
export async function dropLastWords(client: RedisClient, api: string): Promise<void> {
  await client.del(keyOf(api));
}

function keyOf(api: string): string {
  return `${PREFIX}:last-words:${api}`;
}
