import { describe, expect, test } from 'vitest';
import { LOOKUPS_QUEUE, PREFIX } from '../../src/queue/bullmq/names.ts';
import { type TestRedis, type TestRedisOptions, useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { COMMANDS, ENCODED, hostOf, redisWith } from './support/queue-servers.ts';

describe('what is no obstacle', () => {
  test('--accept-eviction goes on with a warning', async () => {
    const redis = await redisWith('--maxmemory-policy', 'allkeys-lru');
    const notices = await noticesOfWorker(redis.url, ['--accept-eviction']);
    expect(notices).not.toContain('IMPORTANT!'); // BullMQ's own words are no line of ours
    expect(notices).toContain(
      'This Redis may lose lookups: its maxmemory-policy is allkeys-lru: when its memory is full it throws lookups away; set it with: redis-cli config set maxmemory-policy noeviction.',
    );
  });

  test.each<[string, TestRedisOptions]>([
    ['a log', { isPersistent: true }],
    ['snapshots', { settings: ['--save', '3600 1'] }],
  ])('a Redis that keeps %s is not', async (_, options) => {
    const redis = await useRedis(options);
    expect(await noticesOfWorker(redis.url)).not.toContain('keeps nothing on disk');
  });

  test('a Redis that keeps nothing on disk is warned of, a worker says whom it asks, and shows no secret', async () => {
    const redis = await redisWith();
    const url = `redis://:${ENCODED}@${hostOf(redis)}`; // where no password is needed
    const notices = await noticesOfWorker(url, ['--param', 'client_id=topsecret']);
    expect(notices).toContain(
      'This Redis keeps nothing on disk: what waits in the queue is gone when it restarts. For a backlog that must survive, set it with: redis-cli config set appendonly yes',
    );
    expect(notices).toContain(`Waiting for lookups on Redis at ${hostOf(redis)};`);
    expect(notices).toMatch(/; this worker asks http:\S+\?client_id=…, API '\w+' on the queue\./);
    expect(notices).not.toMatch(/hunter2|topsecret/);
  });
});

describe('what Redis refuses a worker that waits', () => {
  test.each<[string, (redis: TestRedis) => Promise<unknown>, string]>([
    [
      'a Redis that is out of memory',
      ({ client }) => client.config('SET', 'maxmemory', '1'),
      'Redis refuses what a worker needs: it is out of memory; raise maxmemory. Trying again.',
    ],
    [
      'a Redis that has too few replicas',
      ({ client }) => client.config('SET', 'min-replicas-to-write', '1'),
      'Redis refuses what a worker needs: too few replicas follow it for it to be written to',
    ],
    [
      'a Redis whose user lost a right',
      ({ client }) => client.call('ACL', 'SETUSER', 'default', '-bzpopmin'),
      'Redis refuses what a worker needs: its user may not do what a queue needs',
    ],
    [
      'a Redis that became a replica',
      ({ client }) => client.replicaof('127.0.0.1', 9),
      'it is a read-only replica; give the address of its master. Trying again until it is none.',
    ],
    [
      'a queue that a job with the id "delayed" has broken',
      ({ client }) => client.hset(`${PREFIX}:${LOOKUPS_QUEUE}:delayed`, 'name', 'lookups'),
      'Redis refuses what a worker needs: a key of the queue is of another kind: a job was added',
    ],
  ])('%s is told of once; stopped, it ends with 0', async (_, trouble, notice) => {
    const redis = await redisWith();
    const worker = await start([...COMMANDS.worker(redis.url), '--drain', '1s'], {
      cwd: openFolder().path,
    });
    await worker.shows('Waiting for lookups');
    await trouble(redis);
    await worker.shows(notice);
    worker.process.kill('SIGTERM');
    const { code, stderr } = await worker.ended;
    expect(code, stderr).toBe(0);
    expect(stderr.split(notice)).toHaveLength(2);
  });
});

describe('what Redis refuses who else waits', () => {
  test.each([
    ['the collector', '-bzpopmin', ['collect']],
    ['the schedule', '-bzpopmin', ['schedule', 'nightly.yaml']],
    [
      'a run',
      '-xread',
      ['enrich', 'list.csv', '--workers', '0', '--base-url', 'http://127.0.0.1:9'],
    ],
  ])('is told once by %s', async (who, lost, args) => {
    const redis = await redisWith();
    const folder = openList('domain\nacme.com\n');
    folder.write('nightly.yaml', 'input: list.csv\nschedule: { cron: "0 3 * * *" }\n');
    const waiting = await start([...args, '--queue', redis.url], { cwd: folder.path });
    await waiting.shows(args[0] === 'enrich' ? 'No worker is there' : 'Redis at');
    await redis.client.call('ACL', 'SETUSER', 'default', lost);
    const notice = `Redis refuses what ${who} needs: its user may not do what a queue needs`;
    await waiting.shows(notice);
    waiting.process.kill('SIGTERM');
    const { stderr } = await waiting.ended;
    expect(stderr.split(notice)).toHaveLength(2);
  });
});

describe('what a user loses amid the work', () => {
  test('is told once by a run that may not remove what it has stored', async () => {
    const redis = await redisWith();
    const clerk = await addClerk(redis);
    const { url } = await openApi();
    const folder = openList(200);
    const list = ['list.csv', '--workers', '0', '--chunk', '5', '--queue', clerk];
    const waiting = await start(['enrich', ...list, '--base-url', url], { cwd: folder.path });
    await waiting.shows('No worker is there');
    await redis.client.call('ACL', 'SETUSER', 'clerk', '-xdel');
    const worker = ['worker', '--queue', redis.url, '--base-url', url];
    await start(worker, { cwd: openFolder().path });
    await waiting.shows(
      "Redis refuses what a run needs: its user may not do what a queue needs (run the 'xdel' command); allow it ~{brandfill}* &* +@all -@admin -@dangerous +info. Trying again.",
    );
    waiting.process.kill('SIGKILL');
    const { stderr } = await waiting.ended;
    expect(stderr.split('may not do what a queue needs')).toHaveLength(2);
  });
});

/** Adds a user with all rights, and returns the URL that logs in as that. */
async function addClerk({ client, url }: TestRedis): Promise<string> {
  await client.call('ACL', 'SETUSER', 'clerk', 'on', '>right', '+@all', '~*', '&*');
  return url.replace('//', '//clerk:right@');
}

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
