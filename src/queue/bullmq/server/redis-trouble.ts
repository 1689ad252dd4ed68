import { within } from '../../../common/within.ts';
import type { RedisServer } from './redis.ts';

/** Redis answers in a millisecond; whoever asks wants to know soon. */
const ANSWER_MS = 1_500;

/** Says that Redis does not answer; nothing when it does. */
export async function findRedisTrouble({ client, name }: RedisServer): Promise<string | undefined> {
  // Without a connection a command would wait for one.
  const isThere = client.status === 'ready' && (await within(ANSWER_MS, ping(client)));
  return isThere ? undefined : `Redis at ${name} does not answer`;
}

async function ping(client: RedisServer['client']): Promise<void> {
  await client.ping().catch(() => new Promise<never>(() => {})); // then it is too late
}
