import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { work } from '../../src/index.ts';
import { openQueueServer, takeChunks } from '../../src/queue/bullmq/index.ts';
import { LOOKUPS_JOB, LOOKUPS_QUEUE } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { openQueue } from './support/open-queue.ts';
import { domains } from './support/tables.ts';

const CHUNKS = 60;

it('a worker that the API refuses takes no further chunk while it says why it goes', async () => {
  const redis = await useRedis();
  const api = await openApi({ auth: { scheme: 'bearer', key: 'good' } });
  const queue = openQueue(LOOKUPS_QUEUE, redis);
  const chunks = domains(CHUNKS).map((domain, at) => ({
    name: LOOKUPS_JOB,
    data: { v: 1, domains: [domain] },
    opts: { jobId: `chunk-${at}` },
  }));
  await queue.addBulk(chunks);
  const countUntouched = async (): Promise<number> =>
    (await queue.getWaiting()).filter(({ id }) => id?.startsWith('chunk-')).length;
  let untouched: Promise<number> | undefined;
  const port = await openSlowProxy(redis.port, () => {
    untouched = countUntouched();
  });
  const { stopped, isHandedBack } = await work({
    queue: `redis://127.0.0.1:${port}`,
    baseUrl: api.url,
    auth: 'bearer',
    apiKey: 'bad',
    concurrency: 2,
  });
  expect({ stopped, isHandedBack }).toMatchObject({
    stopped: { reason: 'unauthorized' },
    isHandedBack: true,
  });
  expect(await redis.client.keys('*:last-words:*')).toHaveLength(1);
  expect(await queue.getWaitingCount()).toBe(CHUNKS);
  // Nothing was taken but what was being fetched just then.
  expect(await countUntouched()).toBeGreaterThanOrEqual(((await untouched) ?? CHUNKS) - 1);
});

/** A way to Redis on which last words, and what comes behind them, take most of a second. */
async function openSlowProxy(targetPort: number, onSlow: () => void): Promise<number> {
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let passed: Promise<unknown> = Promise.resolve();
    client.on('data', (bytes) => {
      const isSlow = bytes.includes('last-words') && bytes.includes('"why"');
      if (isSlow) onSlow();
      passed = passed.then(() => delay(isSlow ? 800 : 0)).then(() => target.write(bytes));
    });
    target.pipe(client);
    for (const socket of [client, target]) socket.on('error', () => {});
    client.on('close', () => target.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('a chunk that comes just when a worker stops that had nothing to do is left as it is', async () => {
  const redis = await useRedis();
  const queue = openQueue(LOOKUPS_QUEUE, redis);
  for (let round = 0; round < 10; round += 1) {
    const server = await openQueueServer({
      url: redis.url,
      acceptEviction: false,
      onNotice: () => {},
    });
    let handled = 0;
    const taker = takeChunks({
      redis: server,
      concurrency: 1,
      api: 'an-api',
      normalize: (domain) => ({ domain }),
      handle: async () => {
        handled += 1;
      },
      onNotice: () => {},
    });
    while ((await redis.client.keys('*:workers')).length === 0) await delay(5);
    await delay(50); // it waits for a chunk by now
    const stopped = taker.stop();
    await queue.add(LOOKUPS_JOB, { v: 1, domains: ['acme.com'] }, { jobId: `chunk-${round}` });
    await stopped;
    await server.close();
    expect(handled).toBe(0);
    const waiting = await queue.getJobs(['wait', 'active']);
    expect(waiting.map(({ id }) => id)).toEqual([`chunk-${round}`]);
    expect(await queue.getActiveCount()).toBe(0);
    await queue.drain();
  }
});
