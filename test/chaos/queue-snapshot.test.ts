import { expect, it } from 'vitest';
import { addressOf, failOver, knowsReplica, useSentinel } from '../integration/support/sentinel.ts';
import { isByDay, seededRandom } from '../support/random.ts';
import { useRedis } from '../support/redis.ts';
import { CONCURRENCY, type Fleet, MOST_PROBES, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-snapshot.test.ts');

/** In the middle of a list, at some two hundred calls a second. */
const openBusy = (): Promise<Fleet> => openFleet({ random, rows: 2_000, lockMs: 15_000 });

it('Redis comes back with a snapshot that is 600 calls old: what is done is not paid again', async () => {
  const fleet = await openBusy();
  await fleet.workers(2);
  const run = fleet.run();
  await fleet.calls(200);
  await fleet.redis.client.call('save');
  await fleet.calls(800);
  await fleet.redis.kill();
  await fleet.redis.start();
  await fleet.expectWhole(await run.ended);
  console.log(`queue-snapshot.test.ts: ${fleet.excessCalls()} calls again after a restart`);
  expect(fleet.excessCalls()).toBeLessThanOrEqual(MOST_PROBES);
});

it.skipIf(isByDay('an orderly failover'))(
  'Sentinel names another master: what the old one was told last is not paid again',
  async () => {
    const fleet = await openBusy();
    await useRedis({ settings: ['--replicaof', '127.0.0.1', String(fleet.redis.port)] });
    const sentinel = await useSentinel(fleet.redis);
    await knowsReplica(sentinel);
    fleet.queueUrl = `redis-sentinel://${addressOf(sentinel)}/mymaster`;
    await fleet.workers(2);
    const run = fleet.run();
    await fleet.calls(600);
    await failOver(sentinel);
    await fleet.expectWhole(await run.ended);
    console.log(`queue-snapshot.test.ts: ${fleet.excessCalls()} calls again after a failover`);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(CONCURRENCY);
  },
);
