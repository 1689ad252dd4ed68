import { expect, it } from 'vitest';
import { LOOKUPS_JOB } from '../../../src/queue/names.ts';
import { Turns } from '../../../src/queue/turns.ts';
import { openStage, type Stage } from './stage.ts';

/** A list that adds chunks with its name. */
function listOn({ redis, queue }: Stage, name: string) {
  const turns = new Turns(redis.client, queue);
  let [added, waiting] = [0, 0];
  return {
    add: async (...sizes: readonly number[]): Promise<void> => {
      for (const size of sizes) {
        waiting += size;
        const [priority = 0] = await turns.of([size], waiting);
        added += 1;
        const domains = Array.from({ length: size }, (_, at) => `d${at}.com`);
        const jobId = `${name}-${added}`;
        await queue.add(LOOKUPS_JOB, { domains }, { priority, jobId });
      }
    },
    /** So many lookups are over. */
    end: (lookups: number) => void (waiting -= lookups),
    giveToOthers: () => turns.giveToOthers(),
  };
}

/** Takes so many jobs off the queue, the next in line first. Gives their lists. */
async function take({ queue }: Stage, count: number): Promise<string> {
  const names: string[] = [];
  for (const id of await queue.getRanges(['prioritized'], 0, count - 1, true)) {
    names.push(id.slice(0, 1));
    await queue.remove(id);
  }
  return names.join('');
}

const TEN = Array.from({ length: 10 }, () => 50);

it('a list that comes later goes between the jobs of those that wait', async () => {
  const stage = await openStage();
  const [one, other] = [listOn(stage, 'a'), listOn(stage, 'b')];
  await one.add(...TEN);
  expect(await take(stage, 3)).toBe('aaa');
  await other.add(50, 50, 50);
  expect(await take(stage, 10)).toBe('abababaaaa');
});

it('shares are of lookups, not of jobs', async () => {
  const stage = await openStage();
  const [one, other] = [listOn(stage, 'a'), listOn(stage, 'b')];
  await one.add(...TEN);
  await other.add(...Array.from({ length: 20 }, () => 10));
  const taken = await take(stage, 12);
  expect(taken.replaceAll('a', '').length).toBe(10); // as many lookups as two jobs of the other
});

it('a list that adds one job at a time gets its half, and no more', async () => {
  const stage = await openStage();
  const [one, other] = [listOn(stage, 'a'), listOn(stage, 'b')];
  await one.add(...TEN);
  let taken = '';
  for (let turn = 0; turn < 6; turn += 1) {
    await other.add(50);
    taken += await take(stage, 2);
  }
  expect(taken.replaceAll('a', '').length).toBe(6);
});

it('a list that was alone for long has no less than its half when another comes', async () => {
  const stage = await openStage();
  const [one, other] = [listOn(stage, 'a'), listOn(stage, 'b')];
  for (let round = 0; round < 5; round += 1) {
    await one.add(...TEN);
    await take(stage, 10);
    one.end(500);
  }
  // The queue was empty: all begins anew
  await other.add(...TEN);
  await one.add(50, 50);
  expect((await take(stage, 6)).replaceAll('b', '').length).toBeGreaterThanOrEqual(1);
});

it('jobs of other programs, all of one priority, get turns among the lists', async () => {
  const stage = await openStage();
  const { queue } = stage;
  const list = listOn(stage, 'a');
  const domains = Array.from({ length: 50 }, (_, at) => `d${at}.com`);
  for (let at = 0; at < 10; at += 1) {
    await queue.add(LOOKUPS_JOB, { domains }, { priority: 10, jobId: `python-${at}` });
  }
  await list.giveToOthers(); // nobody else waits
  expect(await queue.getCountsPerPriority([10])).toEqual({ 10: 10 });
  await list.add(50, 50, 50);
  await list.giveToOthers();
  const order = await take(stage, 6);
  expect(order.replaceAll('p', '').length).toBe(3);
  expect(order).toMatch(/^(ap|pa)/);
});
