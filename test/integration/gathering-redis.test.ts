import { expect, it, onTestFinished } from 'vitest';
import { GatheringRedis } from '../../src/queue/bullmq/server/redis.ts';
import { useRedis } from '../support/redis.ts';

const COMMANDS = 100;

it('what is asked in one turn of the event loop reaches Redis in one packet, in its order', async () => {
  const { client: observer, port } = await useRedis({ isOwn: true });
  const client = new GatheringRedis({ port });
  onTestFinished(() => client.disconnect());
  await client.ping();
  const before = await readsOf(observer);
  const numbers = await Promise.all(
    Array.from({ length: COMMANDS }, async () => await client.incr('count')),
  );
  expect(numbers).toEqual(Array.from({ length: COMMANDS }, (_, at) => at + 1));
  // One for the commands, one for the observer.
  expect((await readsOf(observer)) - before).toBeLessThanOrEqual(2);
});

it('what is asked before there is a connection, and after it was lost, is sent', async () => {
  const { client: observer, port } = await useRedis({ isOwn: true });
  const client = new GatheringRedis({ port, lazyConnect: true, maxRetriesPerRequest: null });
  onTestFinished(() => client.disconnect());
  expect(await client.incr('count')).toBe(1);
  await observer.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  expect(await client.incr('count')).toBe(2);
});

/** How often Redis has read from its connections. */
async function readsOf(observer: { info(section: string): Promise<string> }): Promise<number> {
  const info = await observer.info('stats');
  return Number(/total_reads_processed:(\d+)/.exec(info)?.[1]);
}
