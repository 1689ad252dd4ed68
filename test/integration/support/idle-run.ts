import type { openRunQueue } from '../../../src/queue/bullmq/index.ts';
import type { RedisServer } from '../../../src/queue/bullmq/server/redis.ts';

/** A run over a queue that is never stopped, and for which nothing has been given out. */
export function idleRun(redis: RedisServer, name: string): Parameters<typeof openRunQueue>[0] {
  const never = new AbortController().signal;
  return {
    redis,
    name,
    outstanding: new Set(),
    concurrency: 1,
    api: 'an-api',
    normalize: (domain) => ({ domain }),
    collect: async () => {},
    window: 10,
    signal: never,
    giveUp: never,
    onNotice: () => {},
  };
}
