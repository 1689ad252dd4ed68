import { spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findRedisServer, freePort, type TestRedis } from '../support/redis.ts';
import { openFolder } from './support/folder.ts';
import {
  ENCODED,
  expectSameBytes,
  hostOf,
  PASSWORD,
  redisWith,
  refusal,
} from './support/queue-servers.ts';

describe('where a queue may be', () => {
  test('behind a password with special characters', async () => {
    const redis = await redisWith();
    await redis.client.config('SET', 'requirepass', PASSWORD);
    await expectSameBytes(`redis://:${ENCODED}@${hostOf(redis)}`);
  });

  test('with a user who may do only what it takes', async () => {
    const redis = await redisWith();
    const rights = ['~{brandfill}*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];
    await redis.client.call('acl', 'setuser', 'clerk', 'on', `>${PASSWORD}`, ...rights);
    await expectSameBytes(`redis://clerk:${ENCODED}@${hostOf(redis)}`);
  });

  test('at a socket', async () => {
    const folder = openFolder();
    await redisWith('--unixsocket', folder.at('redis.sock'));
    await expectSameBytes(`redis+unix://${folder.at('redis.sock')}`);
  });

  test('where Sentinels say', async () => {
    const master = await redisWith();
    await master.client.config('SET', 'requirepass', PASSWORD);
    const sentinel = await useSentinel('mymaster', master.port);
    await expectSameBytes(`redis-sentinel://:${ENCODED}@127.0.0.1:1,${sentinel}/mymaster`);
  });

  test('where Sentinels say who want a password of their own', async () => {
    const master = await redisWith();
    await master.client.config('SET', 'requirepass', PASSWORD);
    const own = 'own/word&of=them';
    const sentinel = await useSentinel('mymaster', master.port, own);
    const url = `redis-sentinel://:${ENCODED}@127.0.0.1:1,${sentinel}/mymaster`;
    await expectSameBytes(`${url}/0?sentinelPassword=${encodeURIComponent(own)}`);
    for (const query of ['', '?sentinelPassword=wrong%2Fpass-of-them']) {
      const said = await refusal('worker', url + query);
      expect(said).toContain('its sentinels want a password, or another one');
      expect(said).not.toMatch(/wrong.{1,3}pass/);
    }
  });

  test('where Sentinels know no such master', async () => {
    const master = await redisWith();
    const sentinel = await useSentinel('mymaster', master.port);
    expect(await refusal('worker', `redis-sentinel://:${ENCODED}@${sentinel}/other`)).toBe(
      `brandfill: Cannot use the queue on Redis at other (sentinels ${sentinel}): its sentinels know no master of that name.`,
    );
  });

  test('where there are no Sentinels', async () => {
    const redis = await redisWith();
    const port = await freePort();
    expect
      .soft(await refusal('worker', `redis-sentinel://127.0.0.1:${port}/mymaster`))
      .toContain('none of its sentinels can be reached.');
    expect
      .soft(await refusal('worker', `redis-sentinel://${hostOf(redis)}/mymaster`))
      .toContain('what answers there is no sentinel.');
  });

  test('in a cluster', async () => {
    const nodes = await useCluster();
    await expectSameBytes(`redis-cluster://127.0.0.1:1,${nodes.map(hostOf).join(',')}`);
  });

  test('in what is no cluster, or in a node of one', async () => {
    const redis = await redisWith();
    const [node] = await useCluster(1);
    expect
      .soft(await refusal('worker', `redis-cluster://${hostOf(redis)}`))
      .toContain('it is not in a cluster; give redis:// instead of redis-cluster://.');
    await node?.client.call('cluster', 'delslotsrange', 0, 16_383);
    expect
      .soft(await refusal('worker', node?.url ?? ''))
      .toContain('its cluster is not complete: some slots are served by no node.');
    const port = await freePort();
    expect
      .soft(await refusal('worker', `redis-cluster://:${ENCODED}@127.0.0.1:${port}`))
      .toContain('none of its nodes answers for the cluster.');
  });
});

/** Starts a Sentinel that watches a master, and returns its address. */
async function useSentinel(name: string, masterPort: number, password = ''): Promise<string> {
  const folder = openFolder();
  const port = await freePort();
  const config = folder.write(
    'sentinel.conf',
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor ${name} 127.0.0.1 ${masterPort} 1`,
      `sentinel auth-pass ${name} "${PASSWORD}"`,
      ...(password === '' ? [] : [`requirepass "${password}"`]),
    ].join('\n'),
  );
  const sentinel = spawn(findRedisServer() ?? '', [config, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(() => void sentinel.kill('SIGKILL'));
  const client = new Redis({ port, password, retryStrategy: () => 100 });
  client.on('error', () => {}); // it may not listen yet
  onTestFinished(() => client.disconnect());
  await client.ping();
  return `127.0.0.1:${port}`;
}

async function useCluster(count = 3): Promise<TestRedis[]> {
  const nodes = await Promise.all(
    Array.from({ length: count }, () =>
      redisWith('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'),
    ),
  );
  const [first] = nodes;
  const share = 16_384 / count;
  for (const [at, { client, port }] of nodes.entries()) {
    const range = [Math.ceil(at * share), Math.ceil((at + 1) * share) - 1];
    await client.call('cluster', 'addslotsrange', ...range);
    if (at > 0) await first?.client.call('cluster', 'meet', '127.0.0.1', port);
  }
  await Promise.all(nodes.map(async ({ client }) => await becomesWhole(client)));
  return nodes;
}

async function becomesWhole(client: TestRedis['client']): Promise<void> {
  await expect
    .poll(async () => await client.call('cluster', 'info'), { timeout: 30_000 })
    .toContain('cluster_state:ok');
}
