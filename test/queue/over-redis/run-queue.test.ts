import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import type { CallLedger } from '../../../src/calls/budget.ts';
import { toData } from '../../../src/queue/contract.ts';
import { LOOKUPS_JOB, runKey, streamKey } from '../../../src/queue/names.ts';
import { createGate } from '../../support/gate.ts';
import { useRedis } from '../../support/redis.ts';
import { answerAll, found, ledgerOf, openStage } from './stage.ts';

const THREE = ['a.com', 'b.com', 'c.com'];
const thirty = Array.from({ length: 30 }, (_, at) => `d${at}.com`);

it('outcomes of its jobs come back over its stream, and nothing of it is left', async () => {
  const stage = await openStage();
  const run = await stage.run();
  stage.worker();
  await run.add(THREE);
  run.queue.end();
  await run.queue.settled();
  expect(run.collected).toEqual(THREE);
  await run.queue.close();
  const { client } = stage.redis;
  expect(await client.exists(runKey('run'), streamKey('run'))).toBe(0);
  expect(await stage.queue.getJobCounts('wait', 'prioritized', 'active', 'delayed')).toEqual({
    wait: 0,
    prioritized: 0,
    active: 0,
    delayed: 0,
  });
});

it('no more lookups are under way than its window has', async () => {
  const stage = await openStage();
  const run = await stage.run({ window: () => 3 });
  await run.add(THREE);
  let isAdded = false;
  const adding = run.add(['d.com']).then(() => (isAdded = true));
  await delay(50);
  expect(isAdded).toBe(false);
  stage.worker();
  await adding;
});

it('what an earlier start left waiting is planned anew, and what a worker has is taken up', async () => {
  // Given a start that was killed with one job at a worker and one waiting
  const stage = await openStage();
  const gate = createGate();
  const bounds = JSON.stringify({ bounds: [], counting: {}, started: 'x' });
  await stage.redis.client.hset(runKey('run'), { bounds, paused: '0' });
  const leave = async (at: number, domain: string): Promise<void> => {
    const opts = { priority: 11, jobId: `run-run-x-${at}` };
    await stage.queue.add(LOOKUPS_JOB, { domains: [domain], run: 'run' }, opts);
  };
  stage.worker({
    handle: async (...taken) => {
      await gate.opened;
      await answerAll(...taken);
    },
  });
  await leave(1, 'held.com');
  await expect.poll(() => stage.queue.getActiveCount()).toBe(1);
  await stage.queue.pause();
  await leave(2, 'waiting.com');
  // When it is started again
  const earlier: string[] = [];
  const again = await stage.run({ onEarlier: (domains) => void earlier.push(...domains) });
  expect(earlier).toEqual(['held.com']);
  expect(await stage.queue.getPrioritizedCount()).toBe(0);
  gate.open();
  await expect.poll(() => again.collected).toEqual(['held.com']);
});

it('jobs that are gone are said and added again, three times in a row', async () => {
  const stage = await openStage();
  const run = await stage.run();
  await run.add(THREE);
  const failing = run.queue.settled();
  failing.catch(() => {}); // below
  for (let losses = 1; losses <= 4; losses += 1) {
    await expect.poll(() => stage.queue.getPrioritizedCount()).toBeGreaterThan(0);
    if (losses === 1) await stage.redis.client.del(stage.queue.toKey('prioritized'));
    else await stage.queue.drain();
  }
  await expect(failing).rejects.toThrow(/3 lookups were gone from Redis.*again and again/);
  expect(stage.notices.filter((one) => one.endsWith('put on the queue again.'))).toHaveLength(3);
});

it('what is done is not done again by a Redis that comes back with the jobs of an older snapshot', async () => {
  // Given a job of which two lookups are done, and another one that is
  const gate = createGate();
  const redis = await useRedis();
  const stage = await openStage(redis);
  const run = await stage.run();
  await run.add(THREE);
  await run.add(['d.com']);
  await expect.poll(() => stage.queue.getPrioritizedCount()).toBe(2);
  await redis.client.call('save');
  stage.worker({
    handle: async ({ domains }, reply) => {
      await reply(domains.filter((domain) => domain !== 'c.com').map(found));
      await gate.opened;
    },
  });
  onTestFinished(gate.open);
  await expect.poll(() => run.collected).toEqual(['a.com', 'b.com', 'd.com']);
  // When Redis is killed
  await redis.kill();
  await redis.start();
  // Then
  const left = async (): Promise<unknown[]> => {
    const jobs = await stage.queue.getJobs(['prioritized', 'active']);
    return jobs.flatMap(({ data }) => (data as { domains: string[] }).domains);
  };
  await expect.poll(left).toEqual(['c.com']);
});

it('what a Redis with a clock that is behind has on the stream is read', async () => {
  // Given a run that has read an entry
  const stage = await openStage();
  const run = await stage.run();
  const tell = async (id: string, domain: string): Promise<void> => {
    const entry = JSON.stringify({ job: 'any', outcomes: [toData(found(domain), domain)] });
    await stage.redis.client.xadd(streamKey('run'), id, 'data', entry);
  };
  await run.add(THREE);
  await tell('*', 'a.com');
  await expect.poll(() => run.collected).toEqual(['a.com']);
  // When another one is there, which lost that
  await stage.redis.client.del(streamKey('run'));
  if (stage.redis.client instanceof Redis) stage.redis.client.stream.destroy();
  await tell('5-1', 'b.com');
  // Then
  await expect.poll(() => run.collected).toEqual(['a.com', 'b.com']);
});

it('a stop takes what no worker has begun off the queue, and awaits the rest', async () => {
  const stage = await openStage();
  const [begun, gate] = [createGate(), createGate()];
  const run = await stage.run();
  stage.worker({
    handle: async ({ domains: [first = ''] }, reply) => {
      begun.open();
      await gate.opened;
      await reply([found(first)]); // and gives up the others
    },
  });
  await run.add(THREE);
  await begun.opened;
  await stage.queue.pause();
  await run.add(['d.com']);
  run.stop();
  const settled = run.queue.settled();
  await expect.poll(() => stage.redis.client.hget(runKey('run'), 'stopped')).toBe('1');
  gate.open();
  await settled;
  expect(run.collected).toEqual(['a.com']);
  expect([...run.outstanding]).toEqual(['b.com', 'c.com']); // which no worker goes on with
  expect(await stage.queue.getPrioritizedCount()).toBe(0); // though it was being sent
});

it.each<[string, { paused?: string; others?: number; workers?: number }, RegExp]>([
  ['no worker is there', {}, /^No worker is there to make the lookups/],
  ['somebody has paused the queue', { paused: 'yes', workers: 1 }, /was paused through BullMQ/],
  ['workers are at work for other lists', { workers: 1, others: 9 }, /this run waits for its turn/],
])('it says why nothing comes: %s', async (_, { paused, others = 0, workers = 0 }, words) => {
  const stage = await openStage();
  const gate = createGate();
  if (paused) await stage.queue.pause();
  for (let at = 0; at < others; at += 1) {
    await stage.queue.add(LOOKUPS_JOB, { domains: ['other.com'] });
  }
  if (workers > 0) stage.worker({ concurrency: 1, handle: () => gate.opened });
  onTestFinished(gate.open);
  // A worker that is full takes none of the run's.
  if (others > 0) await expect.poll(() => stage.queue.getActiveCount()).toBeGreaterThan(1);
  const run = await stage.run();
  await run.add(THREE);
  await expect.poll(() => stage.notices.join('\n')).toMatch(words);
});

it('that it is over is said when outcomes come again', async () => {
  const stage = await openStage();
  const run = await stage.run();
  await run.add(THREE);
  await expect.poll(() => run.queue.stall?.why).toBe('no_worker');
  stage.worker();
  await expect.poll(() => run.queue.stall).toBeUndefined();
  expect(stage.notices.at(-1)).toBe('Outcomes come again.');
});

it('it finds out itself that Redis takes nothing more, and that it does again', async () => {
  // Given a run that nobody works for, which alone writes to Redis
  const redis = await useRedis();
  const stage = await openStage(redis);
  const run = await stage.run();
  await run.add(THREE);
  await redis.client.config('SET', 'maxmemory', '1mb');
  await expect.poll(() => stage.redis.trouble()).toMatch(/: it is out of memory; raise maxmemory$/);
  await redis.client.config('SET', 'maxmemory', '0');
  await expect.poll(() => stage.redis.trouble()).toBeUndefined();
});

/** A bound of a hundred calls. */
const callsOf = (ledger: CallLedger) => ({ field: 'calls', most: 100, each: 1, ledger }) as const;

it('hears of calls that brought no outcome, of one start and not of the next', async () => {
  // Given a worker whose first call for each domain is answered 429, and has its price
  const stage = await openStage();
  const never = new AbortController().signal;
  stage.worker({
    handle: async ({ domains, budget }, reply) => {
      for (const domain of domains) {
        for (const end of ['release', 'spend', undefined] as const) {
          const permit = await budget?.acquire(never);
          if (!permit || 'reason' in permit) continue;
          if (end) permit.begin?.();
          permit[end ?? 'release'](end && 5);
        }
        await reply([found(domain)]);
      }
    },
  });
  // When the same run is started twice, and ends
  for (let start = 0; start < 2; start += 1) {
    const run = await stage.run();
    await run.add(thirty);
    run.queue.end();
    await expect.poll(() => run.outstanding.size).toBe(0);
    await run.queue.close();
    // Then it has heard of what was made for it, and of nothing else
    expect(run.made).toMatchObject({ calls: 60, throttled: 30, billedMicros: 300 });
  }
});

it('hears of a call under way, whose worker may be killed before its end', async () => {
  const stage = await openStage();
  const gate = createGate();
  stage.worker({
    handle: async ({ budget }) => {
      for (let call = 0; call < 3; call += 1) budget?.tryAcquire()?.begin?.();
      await gate.opened;
    },
  });
  onTestFinished(gate.open);
  const run = await stage.run();
  await run.add(THREE);
  await expect.poll(() => run.made.calls).toBe(3);
});

it('workers take no more than the run allows, which its store counts first', async () => {
  // Given a bound of 100 calls
  const stage = await openStage();
  const store = ledgerOf(100);
  const run = await stage.run({ bounds: [callsOf(store.ledger)] });
  const spentAhead: number[] = [];
  stage.worker({
    handle: async ({ domains, budget }, reply) => {
      for (const domain of domains) {
        const permit = await budget?.acquire(new AbortController().signal);
        if (!permit || 'reason' in permit) return;
        spentAhead.push(store.taken());
        permit.begin?.();
        permit.spend(0, 1);
        await reply([found(domain)]);
      }
    },
  });
  for (let chunk = 0; chunk < 5; chunk += 1) {
    await run.add(thirty.map((domain) => `${chunk}${domain}`));
  }
  // Then no call is made that the store has not counted, and all of the bound is used
  await expect.poll(() => run.usedUp).toContain('max_calls');
  expect(run.collected).toHaveLength(100);
  expect(spentAhead.every((counted, made) => counted > made)).toBe(true);
  expect(run.made.calls).toBe(100);
});

it.each<[string, boolean, boolean, number]>([
  ['goes on with what it left', true, false, 70],
  ['without a name begins anew', false, false, 100],
  ['over a Redis that has lost its memory counts all that was allowed', true, true, 40],
])('one that is started again %s', async (_, isNamed, isLost, least) => {
  const stage = await openStage();
  const store = ledgerOf(100);
  const bounds = { isNamed, bounds: [callsOf(store.ledger)] };
  const ofFirst = await stage.connect();
  const first = await stage.run({ ...bounds, redis: ofFirst });
  await stage.redis.client.hset(runKey('run'), {
    calls: 20,
    'calls:one': 20,
    'made:one': '20 0 0',
  });
  await expect.poll(() => first.made.calls).toBe(20);
  await ofFirst.close();
  if (isLost) await stage.redis.client.flushdb();
  if (!isNamed) await store.ledger.giveBack(store.taken(), { id: 'run', endsAtMs: Infinity });
  const second = await stage.run(bounds);
  const calls = Number(await stage.redis.client.hget(runKey('run'), 'calls'));
  expect(100 - calls).toBeGreaterThanOrEqual(least);
  expect(100 - calls).toBeLessThanOrEqual(isNamed ? 80 : 100);
  expect(second.made.calls).toBe(0);
});

it('what workers took is known again though Redis is emptied while the run allows more', async () => {
  const stage = await openStage();
  const store = ledgerOf(100);
  let isEmptied = false;
  const take: CallLedger['take'] = async (...wanted) => {
    if (store.taken() > 0 && !isEmptied) {
      isEmptied = true;
      await stage.redis.client.flushdb();
    }
    return await store.ledger.take(...wanted);
  };
  await stage.run({ bounds: [callsOf({ ...store.ledger, take })] });
  await stage.redis.client.hset(runKey('run'), {
    calls: 20,
    'calls:one': 20,
    'made:one': '20 0 0',
  });
  await expect.poll(() => isEmptied).toBe(true);
  await expect
    .poll(() => stage.redis.client.hgetall(runKey('run')))
    .toMatchObject({ calls: '20', 'calls:one': '20', lost: '1' });
});
