import { describe, expect, test } from 'vitest';
import { freePort } from '../support/redis.ts';
import { useTcpServer } from '../support/servers.ts';
import {
  type CommandName,
  ENCODED,
  hostOf,
  PASSWORD,
  redisWith,
  refusal,
} from './support/queue-servers.ts';

const EVERYTHING = ['+@all', '~*', '&*'];

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

  test('leaves no connection behind when its calls cannot be made', async () => {
    const redis = await redisWith();
    const connections = async (): Promise<number> =>
      String(await redis.client.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    const said = await refusal(command, redis.url, { http_proxy: 'socks5://127.0.0.1:9' });
    expect(said).toContain('Cannot use the proxy that http_proxy names');
    await expect.poll(connections).toBe(before);
  });

  test('says that it takes a URL, and does not repeat what it got', async () => {
    expect(await refusal(command, `:${PASSWORD}@localhost:6379`)).toContain(
      'Cannot use --queue: expected a URL such as redis://localhost:6379/0',
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
    ['no clock', [...EVERYTHING, '-time']],
    ['no transactions', [...EVERYTHING, '-@transaction']],
    ['nothing that waits', [...EVERYTHING, '-@blocking']],
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
