import { spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openQueueServer } from '../../src/queue/bullmq/server/queue-server.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';
import { findRedisServer, freePort, type TestRedis } from '../support/redis.ts';
import { openFolder } from './support/folder.ts';
import { redisWith } from './support/queue-servers.ts';

const KEY = '{brandfill}:written-after';

test('connections follow the master that Sentinels name, while the old one still takes all it is told', async () => {
  // Without the command, Sentinel cannot make a replica of it.
  const old = await redisWith(
    '--rename-command',
    'REPLICAOF',
    '',
    '--rename-command',
    'SLAVEOF',
    '',
  );
  const next = await redisWith('--replicaof', '127.0.0.1', String(old.port));
  const sentinel = await useSentinel(old);
  const errors = vi.spyOn(console, 'error');
  onTestFinished(() => errors.mockRestore());
  const server = await openQueueServer({
    url: `redis-sentinel://127.0.0.1:1,127.0.0.1:${sentinel.options.port}/mymaster`,
    acceptEviction: true,
    onNotice: () => {},
  });
  onTestFinished(() => server.close());
  const waiting = (server.connect() as Redis).duplicate();
  waiting.on('error', () => {}); // told by the one that it was made after
  onTestFinished(() => waiting.disconnect());
  await Promise.all([server.client.ping(), waiting.ping()]);

  // It takes some seconds until Sentinel knows that there is a replica.
  await expect
    .poll(() => sentinel.call('sentinel', 'failover', 'mymaster').catch(String))
    .toBe('OK');
  const isWritten = async (client: RedisClient): Promise<unknown> => {
    await client.set(KEY, '1');
    return await next.client.getdel(KEY).catch(String);
  };
  await expect
    .poll(async () => await next.client.role())
    .toEqual(['master', expect.anything(), []]);
  for (const client of [server.client, waiting]) {
    await expect.poll(() => isWritten(client)).toBe('1');
  }
  expect(await old.client.role()).toEqual(['master', expect.anything(), []]);
  expect(errors).not.toHaveBeenCalled(); // though one of the Sentinels is not there
});

test('a master that is away is told of as one that Sentinels watch, once', async () => {
  const master = await redisWith();
  const sentinel = await useSentinel(master);
  const address = `127.0.0.1:${sentinel.options.port}`;
  const notices: string[] = [];
  const server = await openQueueServer({
    url: `redis-sentinel://${address}/mymaster`,
    acceptEviction: true,
    onNotice: (message) => notices.push(message),
  });
  onTestFinished(() => server.close());
  server.connect();
  await server.client.ping();
  notices.length = 0;
  await master.kill();
  await expect.poll(() => notices).not.toEqual([]);
  await master.start();
  await server.client.ping();
  const name = `mymaster (sentinels ${address})`;
  expect(notices).toEqual([
    `Redis at ${name}: its master is away. Going on with the one that its sentinels name, as soon as that answers.`,
    `Redis at ${name} answers again.`,
  ]);
});

async function useSentinel(master: TestRedis): Promise<Redis> {
  const port = await freePort();
  const config = openFolder().write(
    'sentinel.conf',
    `port ${port}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 ${master.port} 1\n`,
  );
  const sentinel = spawn(findRedisServer() ?? '', [config, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(() => void sentinel.kill('SIGKILL'));
  const client = new Redis({ port, retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on('error', () => {}); // it may not listen yet
  onTestFinished(() => client.disconnect());
  await client.ping();
  return client;
}
