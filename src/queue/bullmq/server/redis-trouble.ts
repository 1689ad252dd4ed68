import { within } from '../../../common/within.ts';
import type { RedisServer } from './redis.ts';

/** Redis answers in a millisecond, and a health check must answer soon. */
const ANSWER_MS = 1_500;

/** Says that Redis does not answer; undefined when it does. */
export async function findRedisTrouble({ client, name }: RedisServer): Promise<string | undefined> {
  // Without a connection, a command would wait until there is one.
  const isThere = client.status === 'ready' && (await within(ANSWER_MS, ping(client)));
  return isThere ? undefined : `Redis at ${name} does not answer`;
}

async function ping(client: RedisServer['client']): Promise<void> {
  await client.ping().catch(() => new Promise<never>(() => {})); // time then runs out
}
