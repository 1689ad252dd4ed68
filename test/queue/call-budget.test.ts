import { ReplyError } from 'ioredis';
import { expect, it } from 'vitest';
import { createSharedCallLedger } from '../../src/queue/bullmq/call-ledger.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';

it('a Redis that refuses to count calls is told of', async () => {
  const stop = new AbortController();
  const told: string[] = [];
  const client = {
    time: async () => ['0', '0'],
    eval: async () => {
      throw new ReplyError('NOPERM this user has no permissions to run the eval command');
    },
  } as unknown as RedisClient;
  const ledger = createSharedCallLedger(client, {
    id: 'a',
    limit: { count: 10, unit: 'day' },
    onNotice: (message) => {
      told.push(message);
      stop.abort();
    },
  });
  await expect(ledger.take(stop.signal)).rejects.toThrow();
  expect(told).toEqual([
    expect.stringMatching(/^Redis refuses what the count of calls needs: its user may not do/),
  ]);
});
