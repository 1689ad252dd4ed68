import { execFileSync, spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  findRedisServer,
  freePort,
  type TestRedis,
  type TestRedisOptions,
  useRedis,
} from '../support/redis.ts';
import { useTcpServer } from '../support/servers.ts';
import { openApi } from './support/api.ts';
import { type Ended, run, start } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { domains, listOf } from './support/tables.ts';

const PASSWORD = 'hunter2/@:x';
const ENCODED = encodeURIComponent(PASSWORD);
/** The command is to say what is wrong while somebody still looks at it. */
const SOON_MS = 10_000;
const EVERYTHING = ['+@all', '~*', '&*'];

async function redisWith(...settings: readonly string[]): Promise<TestRedis> {
  return await useRedis({ isOwn: true, settings });
}

function hostOf({ port }: TestRedis): string {
  return `127.0.0.1:${port}`;
}

/** Both commands that use a queue, each in a folder of its own. */
const COMMANDS = {
  worker: (url: string) => ['worker', '--queue', url, '--base-url', 'http://127.0.0.1:9'],
  enrich: (url: string) => [
    'enrich',
    'list.csv',
    '--queue',
    url,
    '--base-url',
    'http://127.0.0.1:9',
  ],
};

type CommandName = keyof typeof COMMANDS;

/** Runs a command that must refuse its queue in one sentence, soon, without telling the password. */
async function refusal(
  name: CommandName,
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = openFolder();
  folder.write('list.csv', listOf(domains(3)));
  const startedAt = performance.now();
  const ended = await run(COMMANDS[name](url), { cwd: folder.path, env });
  const tookMs = performance.now() - startedAt;
  const said = ended.stderr.split('\n').filter((line) => line.startsWith('brandfill: '));
  expect.soft(ended).toMatchObject({ code: 2, signal: null, stdout: '' });
  expect.soft(said).toHaveLength(1);
  expect.soft(ended.stderr.trimEnd().split('\n').at(-1)).toBe(said[0]);
  expect.soft(ended.stderr).not.toMatch(/^\s+at /m);
  expect.soft(ended.stderr).not.toMatch(/hunter2/i);
  expect.soft(tookMs).toBeLessThan(SOON_MS);
  expect.soft(folder.names()).toEqual(['list.csv']);
  return said[0] ?? ended.stderr;
}

describe.each<CommandName>(['worker', 'enrich'])('%s', (command) => {
  test('says that nobody listens', async () => {
    const port = await freePort();
    expect(await refusal(command, `redis://:${ENCODED}@127.0.0.1:${port}`)).toBe(
      `brandfill: Cannot use the queue on Redis at 127.0.0.1:${port}: nobody listens there; start Redis, or give another --queue.`,
    );
  });

  test('says that the password is wrong', async () => {
    const redis = await redisWith();
    await redis.client.config('SET', 'requirepass', 'right');
    expect(await refusal(command, `redis://:${ENCODED}@${hostOf(redis)}`)).toContain(
      'it refuses the user or the password.',
    );
  });

  test('says that it takes a URL, and does not repeat what it got', async () => {
    expect(await refusal(command, `:${PASSWORD}@localhost:6379`)).toContain(
      'Cannot read the URL of the queue: expected one such as redis://localhost:6379/0',
    );
  });

  test('refuses a Redis that throws keys away', async () => {
    const redis = await redisWith('--maxmemory-policy', 'allkeys-lru');
    expect(await refusal(command, redis.url)).toBe(
      'brandfill: Cannot use this Redis for the queue: its maxmemory-policy is allkeys-lru: when its memory is full it throws lookups away; set it with: redis-cli config set maxmemory-policy noeviction, or go on with --accept-eviction.',
    );
  });
});

describe('what answers and will not do', () => {
  test('a Redis that wants a password', async () => {
    const redis = await redisWith();
    await redis.client.config('SET', 'requirepass', 'right');
    expect(await refusal('worker', `redis://${hostOf(redis)}`)).toContain(
      'it wants a password; give redis://:PASSWORD@host or redis://USER:PASSWORD@host.',
    );
  });

  test.each([
    ['other keys', [...EVERYTHING, 'resetkeys', '~other:*']],
    ['hardly a command', [...EVERYTHING, '-@all', '+ping', '+info']],
    ['no scripts', [...EVERYTHING, '-@scripting']],
    ['no command at all', [...EVERYTHING, '-@all']],
  ])('a user who may use %s', async (_, rights) => {
    const redis = await redisWith();
    await redis.client.call('acl', 'setuser', 'clerk', 'on', `>${PASSWORD}`, ...rights);
    expect(await refusal('worker', `redis://clerk:${ENCODED}@${hostOf(redis)}`)).toContain(
      'its user may not do what a queue needs; allow it ~{brandfill}* &* +@all -@admin -@dangerous +info.',
    );
  });

  test('a read-only replica', async () => {
    const master = await redisWith();
    const replica = await redisWith('--replicaof', '127.0.0.1', String(master.port));
    expect(await refusal('worker', replica.url)).toContain(
      'it is a read-only replica; give the address of its master.',
    );
  });

  test('a Redis whose memory is full', async () => {
    const redis = await redisWith('--maxmemory', '1');
    expect(await refusal('worker', redis.url)).toContain('it is out of memory; raise maxmemory.');
  });

  test('a database that is not there', async () => {
    const redis = await redisWith();
    expect(await refusal('worker', `redis://${hostOf(redis)}/99`)).toContain(
      'it has no database of that number.',
    );
  });

  test('a Redis that is too old', async () => {
    const { port } = await useTcpServer((socket, request) => {
      for (const command of commandsIn(request)) socket.write(replyOfOldRedis(command));
    });
    expect(await refusal('worker', `redis://127.0.0.1:${port}`)).toBe(
      'brandfill: Cannot use this Redis for the queue: it is of version 5.0.0, needed is 6.2 or later, or Valkey.',
    );
  });

  test('a server that is no Redis', async () => {
    const { port } = await useTcpServer((socket) =>
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    expect(await refusal('worker', `redis://127.0.0.1:${port}`)).toContain(
      'what answers there is no Redis for a queue.',
    );
  });

  test('a server that says nothing', async () => {
    const { port } = await useTcpServer(() => {});
    expect(await refusal('worker', `redis://127.0.0.1:${port}`)).toMatch(
      /: (it cannot be reached, or does not answer|the connection broke off)/,
    );
  });

  test('a host that there is not', async () => {
    expect(await refusal('worker', 'redis://nowhere.invalid')).toContain(
      'there is no host of that name; give another --queue.',
    );
  });

  test('a socket that there is not', async () => {
    expect(await refusal('worker', 'redis+unix:///nowhere/redis.sock')).toContain(
      'Redis at /nowhere/redis.sock: there is no such socket',
    );
  });
});

describe('what is no obstacle', () => {
  test('--accept-eviction goes on with a warning', async () => {
    const redis = await redisWith('--maxmemory-policy', 'allkeys-lru');
    const notices = await noticesOfWorker(redis.url, ['--accept-eviction']);
    expect(notices).toContain(
      'This Redis may lose lookups: its maxmemory-policy is allkeys-lru: when its memory is full it throws lookups away; set it with: redis-cli config set maxmemory-policy noeviction.',
    );
  });

  test('a Redis that keeps nothing on disk is warned of', async () => {
    const redis = await redisWith();
    expect(await noticesOfWorker(redis.url)).toContain(
      'This Redis keeps nothing on disk: what waits in the queue is gone when it restarts. For a backlog that must survive, set it with: redis-cli config set appendonly yes',
    );
  });

  test.each<[string, TestRedisOptions]>([
    ['a log', { isPersistent: true }],
    ['snapshots', { settings: ['--save', '3600 1'] }],
  ])('a Redis that keeps %s is not', async (_, options) => {
    const redis = await useRedis(options);
    expect(await noticesOfWorker(redis.url)).not.toContain('keeps nothing on disk');
  });

  test('a password where none is needed is not shown', async () => {
    const redis = await redisWith();
    const notices = await noticesOfWorker(`redis://:${ENCODED}@${hostOf(redis)}`);
    expect(notices).toContain(`Waiting for lookups on Redis at ${hostOf(redis)};`);
    expect(notices).not.toContain('hunter2');
  });
});

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
  }, 60_000);

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

describe('TLS', () => {
  test('carries a queue when its CA is named', async () => {
    const { port, certificate } = await useTlsRedis();
    const env = { NODE_EXTRA_CA_CERTS: certificate };
    await expectSameBytes(`rediss://localhost:${port}`, env);
    await expectSameBytes(`rediss://127.0.0.1:${port}`, env);
  });

  test('is refused with a certificate that nobody vouches for', async () => {
    const { port } = await useTlsRedis();
    expect(await refusal('worker', `rediss://:${ENCODED}@localhost:${port}`)).toBe(
      `brandfill: Cannot use the queue on Redis at localhost:${port}: its certificate is not trusted; name its CA in NODE_EXTRA_CA_CERTS.`,
    );
  });

  test('is asked for when a plain URL leads to it', async () => {
    const { port } = await useTlsRedis();
    expect(await refusal('worker', `redis://:${ENCODED}@localhost:${port}`)).toContain(
      'the connection broke off; if it speaks TLS, give rediss:// instead of redis://.',
    );
  });

  test('is not assumed where a server is plain', async () => {
    const redis = await redisWith();
    expect(await refusal('worker', `rediss://:${ENCODED}@${hostOf(redis)}`)).toContain(
      'if it does not speak TLS, give redis:// instead of rediss://.',
    );
  });
});

/** Starts a worker, ends it when it waits for lookups, and returns all that it said. */
async function noticesOfWorker(url: string, flags: readonly string[] = []): Promise<string> {
  const folder = openFolder();
  const worker = await start([...COMMANDS.worker(url), ...flags], { cwd: folder.path });
  await worker.shows('Waiting for lookups');
  worker.process.kill('SIGTERM');
  const { code, stdout, stderr } = await worker.ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  return stderr;
}

/** Enriches a list over a queue and without, and compares what came out. */
async function expectSameBytes(
  queue: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = openFolder();
  folder.write('list.csv', listOf(domains(120)));
  const { url } = await openApi({ notFound: 0.2 });
  const alone = await enrich(folder, { name: 'alone', flags: ['--base-url', url], env });
  const flags = ['--base-url', url, '--queue', queue];
  const shared = await enrich(folder, { name: 'shared', flags, env });
  expect(alone.code).toBe(0);
  expect(shared.stderr).not.toContain('hunter2');
  expect(shared, shared.stderr).toMatchObject({ code: 0, stdout: '' });
  expect(folder.read('shared.csv')).toBe(folder.read('alone.csv'));
  expect(folder.read('shared.failures.csv')).toBe(folder.read('alone.failures.csv'));
}

interface EnrichRun {
  readonly name: string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function enrich(folder: Folder, { name, flags, env }: EnrichRun): Promise<Ended> {
  const files = ['--out', `${name}.csv`, '--failures', `${name}.failures.csv`, '--store', name];
  return await run(['enrich', 'list.csv', ...files, ...flags], { cwd: folder.path, env });
}

/** Starts a Sentinel that watches a master, and returns its address. */
async function useSentinel(name: string, masterPort: number): Promise<string> {
  const folder = openFolder();
  const port = await freePort();
  const config = folder.write(
    'sentinel.conf',
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor ${name} 127.0.0.1 ${masterPort} 1`,
      `sentinel auth-pass ${name} "${PASSWORD}"`,
    ].join('\n'),
  );
  const sentinel = spawn(findRedisServer() ?? '', [config, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(() => void sentinel.kill('SIGKILL'));
  const client = new Redis({ port, retryStrategy: () => 100 });
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

/** The names of the commands that clients send as arrays of strings. */
function commandsIn(request: string): string[] {
  return [...request.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)].map(([, name = '']) =>
    name.toLowerCase(),
  );
}

function replyOfOldRedis(command: string): string {
  const info = '# Server\r\nredis_version:5.0.0\r\nloading:0\r\n';
  if (command === 'info') return `$${info.length}\r\n${info}\r\n`;
  if (command === 'hello') return "-ERR unknown command 'HELLO'\r\n";
  return '+OK\r\n';
}
