import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createEvictionWatch } from '../../src/queue/bullmq/server/redis.ts';

describe('a Redis that is set to throw keys away', () => {
  test('is told of once after the start, and not to BullMQ', async () => {
    const { client, setPolicy } = fakeRedis();
    const notices: string[] = [];
    createEvictionWatch((notice) => notices.push(notice))(client);
    setPolicy('volatile-lru'); // of which was told at the start
    expect(await client.info()).toBe('# Memory\r\nmaxmemory:0\r\n\r\nredis_version:8.0.0\r\n');
    expect(notices).toEqual([]);

    setPolicy('allkeys-lru');
    expect(await client.duplicate().info()).not.toContain('allkeys-lru');
    setPolicy('noeviction');
    await client.info();
    setPolicy('allkeys-lru');
    await client.duplicate().duplicate().info();
    expect(notices).toEqual([
      expect.stringMatching(/^This Redis may lose lookups: its maxmemory-policy is allkeys-lru: /),
    ]);
  });

  test('tells its client all that it asks for', async () => {
    const { client } = fakeRedis();
    createEvictionWatch(() => {})(client);
    expect(await client.info('memory')).toContain('maxmemory_policy:noeviction');
  });
});

function fakeRedis(): { client: Redis; setPolicy(policy: string): void } {
  let policy = 'noeviction';
  const open = (): unknown => ({
    info: async () =>
      `# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:${policy}\r\n\r\nredis_version:8.0.0\r\n`,
    duplicate: open,
  });
  return {
    client: open() as Redis,
    setPolicy: (given) => {
      policy = given;
    },
  };
}
