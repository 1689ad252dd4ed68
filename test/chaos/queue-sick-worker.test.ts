import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readWorkers } from '../../src/queue/bullmq/index.ts';
import { statusOf } from '../integration/support/status.ts';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { seededRandom } from '../support/random.ts';
import { respond } from './support/chaos-list.ts';
import { openFleet } from './support/fleet.ts';

const random = seededRandom('queue-sick-worker.test.ts');
const PACE = ['--rate', '70/s'];

it('a worker whose machine cannot make calls steps back alone, says why, and comes back', async () => {
  // Slow until it has come back: on a busy machine the others may be done before, and it needs a
  // lookup to find out with.
  let isSlow = true;
  const fleet = await openFleet({
    random,
    rows: 1_200,
    trouble: (domain) => (isSlow ? { ...respond(domain), delayMs: 3_000 } : undefined),
  });
  const proxy = await useConnectProxy();
  const through = proxy.reply;
  proxy.reply = 'HTTP/1.1 502 Bad Gateway\r\n\r\n';
  const [sick, healthy] = await Promise.all([
    fleet.workerWith({ http_proxy: proxy.url }, '--listen', '0', ...PACE),
    fleet.workers(3, ...PACE),
  ]);
  const status = await statusOf(sick);
  const run = await fleet.enrich('--workers', '0');
  const why = async (): Promise<string> => (await status.ready()).reasons.join();
  await expect.poll(why).toContain('This machine has not been able to make');
  expect(await sick.shows('No call gets through the proxy')).toContain('(proxy_502)');
  const troubles = async (): Promise<readonly string[]> =>
    (await readWorkers(fleet.redis.client)).workers.flatMap(({ trouble = [] }) => trouble);
  await expect.poll(troubles).toHaveLength(1);
  // It holds nothing back that others could look up.
  const holds = async (): Promise<number> => {
    const { workers } = await readWorkers(fleet.redis.client);
    return workers.find(({ trouble }) => trouble !== undefined)?.holds.length ?? 0;
  };
  await expect.poll(holds).toBe(0);
  const askedBefore = proxy.asked.length;
  proxy.reply = through;
  while ((await status.ready()).status !== 200) await delay(50);
  isSlow = false;
  expect(proxy.asked.length).toBeGreaterThan(askedBefore);
  await fleet.expectWhole(await run.ended);
  expect(fleet.excessCalls()).toBe(0);
  for (const worker of [...healthy, sick]) worker.process.kill('SIGTERM');
  for (const worker of healthy) expect((await worker.ended).stderr).not.toContain('out');
  expect(await sick.ended).toMatchObject({ code: 0 });
});
