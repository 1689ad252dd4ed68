import { request } from 'undici';
import { expect, it } from 'vitest';
import { describeSelf } from '../../src/common/owner.ts';
import { dashboard, enrichRows } from '../../src/index.ts';
import {
  announceRun,
  openAllQueues,
  openQueueServer,
  readRuns,
  startScheduleHeartbeat,
  withScheduleQueue,
} from '../../src/queue/bullmq/index.ts';
import { resultsKey } from '../../src/queue/bullmq/schedule-queue.ts';
import { showQueue } from '../../src/web/show-queue.ts';
import { createGate } from '../support/gate.ts';
import { useRedis } from '../support/redis.ts';
import { runState } from '../web/boards.ts';
import { openFolder } from './support/folder.ts';
import { FAR } from './support/schedules.ts';

it('lets those go in order who look when it ends', async () => {
  const { url: queue } = await useRedis();
  const stop = new AbortController();
  const gate = createGate();
  let url = '';
  const onNotice = (message: string): void => {
    [, url = ''] = / is on (\S+)\.$/.exec(message) ?? [];
    if (url !== '') gate.open();
  };
  const ended = dashboard({ queue, listen: 0, signal: stop.signal, onNotice });
  await gate.opened;
  const { body } = await request(`${url}/events`);
  let events = '';
  for await (const text of body.setEncoding('utf8')) {
    events += text;
    stop.abort();
  }
  expect(events).toContain('event: board');
  await ended;
});

it('shows why a run over rows ended, and not that its process is gone', async () => {
  const { url } = await useRedis();
  const broken = (): never => {
    throw new Error('the database is gone');
  };
  const input = { [Symbol.iterator]: broken };
  const rows = enrichRows({
    input,
    queue: url,
    baseUrl: 'http://127.0.0.1:1',
    store: openFolder().at('s'),
  });
  await expect(rows.next()).rejects.toThrow('the database is gone');
  const redis = await openQueueServer({ url, acceptEviction: false, onNotice: () => {} });
  const [run] = await readRuns(redis.client);
  expect(JSON.parse(run?.state ?? '')).toMatchObject({
    phase: 'ended',
    ending: 'error',
    end: ['the database is gone'],
  });
  await redis.close();
});

it('shows all runs but those whose state it cannot read, and says that there are some', async () => {
  const { url } = await useRedis();
  const redis = await openQueueServer({ url, acceptEviction: false, onNotice: () => {} });
  const { client } = redis;
  const { lookups, close } = openAllQueues(client);
  const shown = showQueue({ redis, lookups });
  const told = [
    announceRun(client, { id: 'a', describe: () => JSON.stringify(runState()), onAsked: () => {} }),
    announceRun(client, { id: 'torn', describe: () => '{"list": "li', onAsked: () => {} }),
    announceRun(client, { id: 'later', describe: () => '{"v": 2}', onAsked: () => {} }),
  ];
  for (const run of told) await run.close();
  const { runs, trouble } = await shown.read();
  expect(runs).toMatchObject([{ id: 'a', list: 'list.csv' }]);
  expect(trouble).toMatch(/^2 runs are not shown: their state cannot be read, perhaps/);
  expect(await shown.ask('later', 'stop')).toBe('There is no such run any more.');
  expect(await shown.ask('a', 'stop')).toBeUndefined();
  await close();
  await redis.close();
});

it('shows a queue for days: of readings that fail, nothing is left open', async () => {
  const { url } = await useRedis();
  const redis = await openQueueServer({ url, acceptEviction: false, onNotice: () => {} });
  const { client } = redis;
  const { lookups, close } = openAllQueues(client);
  const scheduler = { owner: describeSelf(), jobs: ['nightly'] };
  const heartbeat = await startScheduleHeartbeat(
    client,
    { name: 'jobs', folder: '/jobs' },
    scheduler,
  );
  await withScheduleQueue(client, 'jobs', (queue) =>
    queue.keep('nightly', { cron: FAR, timezone: 'UTC' }),
  );
  let nowMs = 0;
  const now = (): number => (nowMs += 60_000); // schedules are read each time
  const shown = showQueue({ redis, lookups, now });
  expect((await shown.read()).schedules).toMatchObject([{ job: 'nightly' }]);
  const before = client.listenerCount('close');
  await client.set(resultsKey('jobs', 'nightly'), 'no list');
  for (let reading = 0; reading < 10; reading += 1) {
    await expect(shown.read()).rejects.toThrow('WRONGTYPE');
  }
  expect(client.listenerCount('close')).toBe(before);
  await heartbeat.close();
  await close();
  await redis.close();
});
