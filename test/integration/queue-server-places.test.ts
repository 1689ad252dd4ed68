import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openQueueServer, type RedisClient } from '../../src/queue/redis.ts';
import { findProgram } from '../support/find-program.ts';
import { isLeftOut } from '../support/left-out.ts';
import { freePort, type TestRedis } from '../support/redis.ts';
import { openFolder } from './support/folder.ts';
import {
  ENCODED,
  expectSameBytes,
  hostOf,
  PASSWORD,
  redisWith,
  refusal,
} from './support/queue-servers.ts';
import { addressOf, failOver, useSentinel } from './support/sentinel.ts';

describe('where a queue may be', () => {
  test('with a user who may do only what it takes', async () => {
    const redis = await redisWith();
    const rights = ['~{brandfill}*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];
    await redis.client.call('acl', 'setuser', 'clerk', 'on', `>${PASSWORD}`, ...rights);
    await expectSameBytes(`redis://clerk:${ENCODED}@${hostOf(redis)}`);
  });

  test('where Sentinels say who want a password of their own', async () => {
    const master = await redisWith();
    await master.client.config('SET', 'requirepass', PASSWORD);
    const own = 'own/word&of=them';
    const sentinel = addressOf(await useSentinel(master, own));
    const url = `redis-sentinel://:${ENCODED}@127.0.0.1:1,${sentinel}/mymaster`;
    await expectSameBytes(`${url}/0?sentinelPassword=${encodeURIComponent(own)}`);
    for (const query of ['', '?sentinelPassword=wrong%2Fpass-of-them']) {
      const said = await refusal(url + query);
      expect(said).toContain('its sentinels want a password, or another one');
      expect(said).not.toMatch(/wrong.{1,3}pass/);
    }
  });

  test('in a cluster', async () => {
    const nodes = await useCluster();
    await expectSameBytes(`redis-cluster://127.0.0.1:1,${nodes.map(hostOf).join(',')}`);
  });
});

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
  await expect.poll(async () => await client.call('cluster', 'info')).toContain('cluster_state:ok');
}

const isWithoutOpenssl = findProgram(['openssl']) === undefined;

describe.skipIf(isLeftOut(isWithoutOpenssl && 'TLS to Redis, whose certificate openssl makes'))(
  'TLS',
  () => {
    test('carries a queue when its CA is named', async () => {
      const { port, certificate } = await useTlsRedis();
      const env = { NODE_EXTRA_CA_CERTS: certificate };
      await expectSameBytes(`rediss://127.0.0.1:${port}`, env);
    });

    test('is refused with a certificate that nobody vouches for', async () => {
      const { port } = await useTlsRedis();
      expect(await refusal(`rediss://:${ENCODED}@localhost:${port}`)).toBe(
        `brandfill: Cannot use the queue on Redis at localhost:${port}: its certificate is not trusted; name its CA in NODE_EXTRA_CA_CERTS.`,
      );
    });

    test('is asked for where the URL has none', async () => {
      const { port } = await useTlsRedis();
      expect(await refusal(`redis://:${ENCODED}@localhost:${port}`)).toBe(
        `brandfill: Cannot use the queue on Redis at localhost:${port}: it wants TLS; with TLS its URL is rediss://.`,
      );
    });
  },
);

/** Starts a Redis that speaks TLS, with a certificate of its own making. */
async function useTlsRedis(): Promise<{ readonly port: number; readonly certificate: string }> {
  const folder = openFolder();
  const [key, certificate] = [folder.at('key.pem'), folder.at('certificate.pem')];
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const output = ['-nodes', '-days', '2', '-keyout', key, '-out', certificate];
  execFileSync('openssl', [...request, ...output, '-subj', '/CN=localhost', '-addext', names], {
    stdio: 'ignore',
  });
  const port = await freePort();
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key];
  const ca = ['--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'];
  await redisWith('--tls-port', String(port), ...files, ...ca);
  return { port, certificate };
}

test('a connection that hears of a failover while it looks for the master finds the new one', async () => {
  const old = await redisWith();
  const next = await redisWith('--replicaof', '127.0.0.1', String(old.port));
  const sentinel = await useSentinel(old);
  const door = await useDoor(Number(sentinel.options.port));
  const url = `redis-sentinel://127.0.0.1:${door.port}/mymaster`;
  const { client, close } = await openQueueServer({ url, onNotice: () => {} });
  onTestFinished(close);
  await client.ping();
  const listener = sentinel.duplicate();
  onTestFinished(() => listener.disconnect());
  await listener.subscribe('+switch-master');
  const switched = once(listener, 'message');
  await failOver(sentinel);
  const open = door.shut();
  await old.client.call('client', 'kill', 'type', 'normal');
  await switched;
  await delay(200); // it hears of it behind the door, too
  open();
  await client.set(KEY, '1');
  expect(await next.client.get(KEY)).toBe('1');
});

/** Starts a proxy that can make new connections wait for their answers. */
async function useDoor(target: number): Promise<{ port: number; shut(): () => void }> {
  let opened = Promise.resolve();
  const door = createServer((client) => {
    const server = connect(target, '127.0.0.1');
    client.pipe(server);
    void opened.then(() => server.pipe(client));
    for (const socket of [client, server]) socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void door.close());
  await once(door, 'listening');
  const address = door.address();
  const shut = (): (() => void) => {
    let open = (): void => {};
    opened = new Promise((resolve) => {
      open = resolve;
    });
    return open;
  };
  return { port: typeof address === 'object' && address ? address.port : 0, shut };
}

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
    url: `redis-sentinel://127.0.0.1:1,${addressOf(sentinel)}/mymaster`,
    onNotice: () => {},
  });
  onTestFinished(() => server.close());
  const waiting = (server.connect() as Redis).duplicate();
  waiting.on('error', () => {}); // told by the one that it was made after
  onTestFinished(() => waiting.disconnect());
  await Promise.all([server.client.ping(), waiting.ping()]);

  await failOver(sentinel);
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
