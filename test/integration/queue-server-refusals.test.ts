import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openQueueServer } from '../../src/queue/redis.ts';
import { freePort, type TestRedis, useRedis } from '../support/redis.ts';
import { useTcpServer } from '../support/servers.ts';
import { run, runHere } from './support/command.ts';
import { openFolder, openList } from './support/folder.ts';
import { ENCODED, hostOf, PASSWORD, refusal, workerOf } from './support/queue-servers.ts';

const EVERYTHING = ['+@all', '~*', '&*'];
let redis: TestRedis;

beforeEach(async () => {
  redis = await useRedis();
});

/** Makes a user of the name `clerk`. */
async function allow(password: string, ...rights: readonly string[]): Promise<void> {
  await redis.client.call('acl', 'setuser', 'clerk', 'on', `>${password}`, ...rights);
}

describe('a worker', () => {
  test('says that nobody listens', async () => {
    const port = await freePort();
    expect(await refusal(`redis://:${ENCODED}@127.0.0.1:${port}`)).toBe(
      `brandfill: Cannot use the queue on Redis at 127.0.0.1:${port}: nobody listens there; start Redis, or give another --queue.`,
    );
  });

  test('leaves no connection behind when its calls cannot be made', async () => {
    const connections = async (): Promise<number> =>
      String(await redis.client.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    const said = await refusal(redis.url, { http_proxy: 'socks5://127.0.0.1:9' });
    expect(said).toContain('Cannot use the proxy that http_proxy names');
    await expect.poll(connections).toBe(before);
  });
});

describe('what answers and will not do', () => {
  test.each(['allkeys-lru', 'volatile-ttl'])(
    'a Redis that throws keys away: %s',
    async (policy) => {
      await redis.client.config('SET', 'maxmemory-policy', policy);
      expect(await refusal(redis.url)).toBe(
        `brandfill: Cannot use this Redis for the queue: its maxmemory-policy is ${policy}: when its memory is full it throws lookups or outcomes away; set it with: redis-cli config set maxmemory-policy noeviction.`,
      );
    },
  );

  test('a Redis that wants a password, or another one', async () => {
    await redis.client.config('SET', 'requirepass', 'right');
    expect(await refusal(`redis://${hostOf(redis)}`)).toContain(
      'it wants a password; give redis://:PASSWORD@host or redis://USER:PASSWORD@host.',
    );
    expect(await refusal(`redis://:${ENCODED}@${hostOf(redis)}`)).toContain(
      'it refuses the user or the password.',
    );
  });

  test.each([
    ['other keys', [...EVERYTHING, 'resetkeys', '~other:*'], 'access'],
    ['no scripts', [...EVERYTHING, '-evalsha'], "run the 'evalsha' command"],
  ])('a user who may use %s', async (_, rights, refused) => {
    await allow('right', ...rights);
    const said = await refusal(`redis://clerk:right@${hostOf(redis)}`);
    expect(said).toContain(`: its user may not do what a queue needs (${refused}`);
    expect(said).toMatch(/\); allow it ~\{brandfill\}\* &\* \+@all -@admin -@dangerous \+info\.$/);
  });

  test('a user who may not use INFO, without a word of a package beside', async () => {
    await allow(PASSWORD, '+@all', '~*', '-info');
    const args = workerOf(`redis://clerk:${ENCODED}@${hostOf(redis)}`);
    const { stderr } = await run(args, { cwd: openFolder().path });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining("(run the 'info' command); allow it"),
    ]);
  });

  test('a Redis that has as many clients as it takes', async () => {
    await redis.client.config('SET', 'maxclients', '1');
    expect(await refusal(redis.url)).toContain(
      'it has as many clients as its maxclients allows; raise that, or end some.',
    );
  });

  test('a Redis that is frozen, at rediss://', async () => {
    process.kill(redis.pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(redis.pid, 'SIGCONT'));
    expect(await refusal(`rediss://${hostOf(redis)}`)).toContain(
      'it does not answer: it may be frozen, or have too much to do.',
    );
  });

  test('a Redis without TLS, at rediss://', async () => {
    expect(await refusal(`rediss://${hostOf(redis)}`)).toContain(
      'TLS could not be agreed on; without TLS its URL is redis://.',
    );
  });

  test('a server that breaks off connections, with no guess why', async () => {
    const { port } = await useTcpServer((socket) => socket.end());
    expect(await refusal(`redis://127.0.0.1:${port}`)).toMatch(/: it breaks off connections\.$/);
  });

  test('a database that is not there', async () => {
    expect(await refusal(`redis://${hostOf(redis)}/99`)).toContain(
      'it has no database of that number.',
    );
  });

  test('a Redis that is too old', async () => {
    const { port } = await useTcpServer((socket, request) => {
      for (const command of commandsIn(request)) socket.write(replyOfOldRedis(command));
    });
    expect(await refusal(`redis://127.0.0.1:${port}`)).toBe(
      'brandfill: Cannot use this Redis for the queue: it is of version 5.0.0, needed is 6.2 or later, or Valkey.',
    );
  });

  test('a server that is no Redis', async () => {
    const { port } = await useTcpServer((socket) =>
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    expect(await refusal(`redis://127.0.0.1:${port}`)).toContain(
      'what answers there is no Redis for a queue.',
    );
  });
});

test('that a Redis keeps no log is told by the first of a day', async () => {
  const notices: string[] = [];
  for (let times = 0; times < 2; times += 1) {
    const onNotice = (notice: string): void => void notices.push(notice);
    const server = await openQueueServer({ url: redis.url, onNotice });
    await server.close();
  }
  expect(notices).toEqual([expect.stringContaining('This Redis keeps no log (appendonly)')]);
});

describe('what Redis refuses only once the work begins', () => {
  const api = ['--base-url', 'http://127.0.0.1:9'];

  test.each([
    ['enrich', ['enrich', 'list.csv', ...api]],
    ['add', ['add', 'list.csv', ...api]],
    ['schedule', ['schedule', 'nightly.yaml']],
  ])('%s says in one sentence', async (_, args) => {
    const rights = [...EVERYTHING, 'resetkeys', '~{brandfill}:probe*'];
    await allow('right', ...rights);
    const folder = openList('domain\nacme.com\n');
    folder.write('nightly.yaml', 'input: list.csv\nschedule: { cron: "0 3 * * *" }\n');
    const queue = ['--queue', `redis://clerk:right@${hostOf(redis)}`];
    const ended = await runHere([...args, ...queue], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(
      /Cannot go on with the queue on Redis: its user may not do what a queue needs \([^()]*key[^()]*\); allow it ~\{brandfill\}\* .*\+info\.\n$/,
    );
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });
});

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
