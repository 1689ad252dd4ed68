import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { timeOf } from '../server/server-time.ts';

/** Why a worker stopped by itself. */
export interface StopNotice {
  /** For people, in a sentence. */
  readonly why: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** A run that waits for longer can look at the workers itself. */
const KEPT_MS = 24 * 60 * 60_000;

/** Leaves a message for the runs that wait for lookups of an API, in case no worker is left. */
export async function publishStopNotice(
  client: RedisClient,
  api: string,
  why: string,
): Promise<void> {
  const notice: StopNotice = { why, atMs: await timeOf(client) };
  await client.set(keyOf(api), JSON.stringify(notice), 'PX', KEPT_MS);
}

/**
 * The message of the last worker that stopped by itself, unless another worker has started since.
 */
export async function findStopNotice(
  client: RedisClient,
  api: string,
): Promise<StopNotice | undefined> {
  const text = await client.get(keyOf(api));
  return typeof text === 'string' ? (JSON.parse(text) as StopNotice) : undefined;
}

/** A worker has started, so the message no longer applies. */
export async function dropStopNotice(client: RedisClient, api: string): Promise<void> {
  await client.del(keyOf(api));
}

function keyOf(api: string): string {
  return `${PREFIX}:last-words:${api}`;
}
