import { createHash } from 'node:crypto';
import type { RedisClient } from './redis.ts';

/** Runs a script of Redis, which is sent once and then only named. */
export type Script = (
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

export function createScript(client: RedisClient, lua: string): Script {
  const name = createHash('sha1').update(lua).digest('hex');
  return async (keys, args) => {
    try {
      return await client.evalsha(name, keys.length, ...keys, ...args);
    } catch (error) {
      // A Redis that was restarted, or another node of a cluster, does not know it.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await client.eval(lua, keys.length, ...keys, ...args);
    }
  };
}

/** The clock of Redis, in milliseconds since 1970. The clocks of machines may differ. */
export async function timeOf(client: RedisClient): Promise<number> {
  const [seconds = 0, microseconds = 0] = await client.time();
  return seconds * 1_000 + Math.floor(microseconds / 1_000);
}

/** How long the time that Redis told last is gone by. */
const ASKED_AGAIN_MS = 1_000;

/** The same for those who need it often: Redis is asked once a second at most. */
export function createServerClock(client: RedisClient): () => Promise<number> {
  let last: { readonly nowMs: number; readonly atMs: number } | undefined;
  return async () => {
    if (!last || performance.now() - last.atMs > ASKED_AGAIN_MS) {
      last = { nowMs: await timeOf(client), atMs: performance.now() };
    }
    return Math.floor(last.nowMs + performance.now() - last.atMs);
  };
}
