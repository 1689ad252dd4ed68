import { spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { findRedisServer, freePort, type TestRedis } from '../../support/redis.ts';
import { openFolder } from './folder.ts';
import { PASSWORD } from './queue-servers.ts';

/**
 * Starts a Sentinel that watches a master under the name `mymaster`, and returns a client of it.
 */
export async function useSentinel(master: TestRedis, password = ''): Promise<Redis> {
  const port = await freePort();
  const config = openFolder().write(
    'sentinel.conf',
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor mymaster 127.0.0.1 ${master.port} 1`,
      `sentinel auth-pass mymaster "${PASSWORD}"`,
      ...(password === '' ? [] : [`requirepass "${password}"`]),
    ].join('\n'),
  );
  const sentinel = spawn(findRedisServer(), [config, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(() => void sentinel.kill('SIGKILL'));
  const options = { port, password, retryStrategy: () => 100, maxRetriesPerRequest: null };
  const client = new Redis(options);
  client.on('error', () => {}); // it may not listen yet
  onTestFinished(() => client.disconnect());
  await client.ping();
  return client;
}

export const addressOf = ({ options }: Redis): string => `127.0.0.1:${options.port}`;

/** Waits until the replica is known that it may switch to, which takes some seconds. */
export async function knowsReplica(sentinel: Redis): Promise<void> {
  await expect
    .poll(async () => String(await sentinel.call('sentinel', 'replicas', 'mymaster')))
    .toContain('master-link-status,ok');
}

/** An orderly failover. */
export async function failOver(sentinel: Redis): Promise<void> {
  await expect
    .poll(() => sentinel.call('sentinel', 'failover', 'mymaster').catch(String))
    .toBe('OK');
}
