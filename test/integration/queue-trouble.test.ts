import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { freePort, type TestRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { startHere } from './support/command.ts';
import { openList } from './support/folder.ts';
import { redisWith } from './support/queue-servers.ts';

/** What becomes of a Redis for a while. */
interface Trouble {
  begin(redis: TestRedis): Promise<unknown>;
  end(redis: TestRedis): Promise<unknown>;
  readonly said: string;
}

const TROUBLES: Readonly<Record<string, Trouble>> = {
  'is away': {
    begin: (redis) => redis.kill(),
    end: (redis) => redis.start(),
    said: 'nobody listens there',
  },
  'is frozen': {
    begin: async ({ pid }) => process.kill(pid, 'SIGSTOP'),
    end: async ({ pid }) => process.kill(pid, 'SIGCONT'),
    said: 'it does not answer: it may be frozen, or have too much to do',
  },
  'is full': {
    begin: ({ client }) => client.config('SET', 'maxmemory', '1'),
    end: ({ client }) => client.config('SET', 'maxmemory', '0'),
    said: 'it is out of memory; raise maxmemory',
  },
  'is a read-only replica': {
    begin: async ({ client }) => await client.replicaof('127.0.0.1', await freePort()),
    end: ({ client }) => client.replicaof('NO', 'ONE'),
    said: 'it is a read-only replica; give the address of its master',
  },
  'lacks replicas': {
    begin: ({ client }) => client.config('SET', 'min-replicas-to-write', '1'),
    end: ({ client }) => client.config('SET', 'min-replicas-to-write', '0'),
    said: 'too few replicas follow it for it to be written to; see min-replicas-to-write',
  },
  'loads its data': {
    begin: async (redis) => {
      const values = Array.from({ length: 30 }, (_, at) => [`${at}`, '.'.repeat(LOADED_AT_ONCE)]);
      await redis.client.mset(...values.flat());
      await redis.client.call('save');
      await redis.kill();
      const isBack = redis.start();
      isBack.catch(() => {}); // awaited below
      const asking = new Redis({ port: redis.port, enableReadyCheck: false });
      asking.on('error', () => {}); // it may not listen yet
      await expect.poll(() => asking.ping().catch(String)).toContain('LOADING');
      asking.disconnect();
    },
    end: async ({ client }) => await client.ping(),
    said: 'it is still loading its data; try again in a moment',
  },
};
const LOADED_AT_ONCE = 4_096;
/** So that it takes seconds to load a few keys, and what is asked meanwhile is answered. */
const SLOW_TO_LOAD = [
  '--rdbcompression',
  'no',
  '--key-load-delay',
  '200000',
  '--loading-process-events-interval-bytes',
  '1024',
];

const AGAIN = 'Trying again until it works.';
const ROWS = 120;
const CONCURRENCY = 4;

async function openRun() {
  const redis = await redisWith(...SLOW_TO_LOAD);
  const [api, folder] = [await openApi({ latencyMs: 20 }), openList(ROWS)];
  const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url };
  const options = { cwd: folder.path, env };
  const flags = ['--concurrency', String(CONCURRENCY), '--rate', '30/s'];
  return {
    redis,
    api,
    folder,
    worker: () => startHere(['worker', ...flags], options),
    enrich: () => startHere(['enrich', 'list.csv', '--workers', '0'], options),
  };
}

describe.each(Object.entries(TROUBLES))('a Redis that %s', (_, { begin, end, said }) => {
  test('is waited for by run and worker, which say so once, and nothing is lost or paid twice', async () => {
    // Given a run in the middle of its list
    const { redis, api, folder, worker, enrich } = await openRun();
    const working = worker();
    await working.shows('Waiting for lookups');
    const run = enrich();
    await expect.poll(() => api.stats().calls).toBeGreaterThan(ROWS / 4);
    // When
    await begin(redis);
    const told = await Promise.all([run.shows(AGAIN), working.shows(AGAIN)]);
    const { calls } = api.stats();
    await end(redis);
    // Then
    const ended = await run.ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr.split(AGAIN)).toHaveLength(2);
    // Of one that is killed they may have met other signs first.
    const [why = ''] = said.split(';');
    for (const text of told)
      expect(text).toMatch(
        new RegExp(`Redis at .*: (${why}|nobody listens there|it breaks off connections)`),
      );
    expect(folder.read('list.enriched.csv').match(/,found,/g)).toHaveLength(ROWS);
    expect(calls).toBeLessThan(ROWS);
    expect(api.stats().calls).toBeLessThanOrEqual(ROWS + CONCURRENCY);
  });

  test('refuses a run that starts, in one sentence, and the same command goes on when it is well', async () => {
    const { redis, folder, worker, enrich } = await openRun();
    await begin(redis);
    const refused = await enrich().ended;
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr.trimEnd().split('\n').at(-1)).toMatch(
      `brandfill: Cannot use the queue on Redis at 127.0.0.1:${redis.port}: ${said}`,
    );
    expect(folder.names()).toEqual(['list.csv']);
    await end(redis);
    await worker().shows('Waiting for lookups');
    expect((await enrich().ended).code).toBe(0);
  });
});
