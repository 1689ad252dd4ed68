import type { RedisClient } from './redis.ts';

/** The clock of Redis, in milliseconds since 1970. The clocks of machines may differ. */
export async function timeOf(client: RedisClient): Promise<number> {
  const [seconds = 0, microseconds = 0] = await client.time();
  return seconds * 1_000 + Math.floor(microseconds / 1_000);
}
