import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeSelf } from '../../src/common/owner.ts';
import { openQueueServer, openRunQueue } from '../../src/queue/bullmq/index.ts';
import { ledgerKey, PREFIX } from '../../src/queue/bullmq/names.ts';
import { claimRun, type RunLedger } from '../../src/queue/bullmq/runs/run-ledger.ts';
import type { RedisServer } from '../../src/queue/bullmq/server/redis.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { idleRun } from './support/idle-run.ts';

const ROUNDS = 100;
const DEAD = { ...describeSelf(), pid: spawnSync(process.execPath, ['--version']).pid };

let redis: TestRedis;
let server: RedisServer;
let another: RedisServer;
const notices: string[] = [];
beforeAll(async () => {
  redis = await startRedis();
  [server, another] = await Promise.all([openServer(), openServer()]);
});
afterAll(async () => {
  await Promise.all([server.close(), another.close()]);
  await redis.close();
});

async function openServer(): Promise<RedisServer> {
  return await openQueueServer({ url: redis.url, acceptEviction: false, onNotice: () => {} });
}

async function claim(name: string, { client } = server): Promise<RunLedger> {
  const onNotice = (message: string): void => void notices.push(message);
  return await claimRun({ client, name, list: 'a list', onNotice });
}

function claimKey(name: string): string {
  return `${PREFIX}:claim:${name}`;
}

it('of two runs that find a dead one at the same moment, one gets its name, the other the next', async () => {
  const names = Array.from({ length: ROUNDS }, () => randomUUID());
  const rounds = names.map(async (name) => {
    await redis.client.set(claimKey(name), JSON.stringify(DEAD), 'PX', 10_000);
    const ledgers = await Promise.all([server, another].map((each) => claim(name, each)));
    await Promise.all(ledgers.map((ledger) => ledger.close(true)));
    return ledgers.map(({ runId }) => runId).sort();
  });
  expect(await Promise.all(rounds)).toEqual(names.map((name) => [name, `${name}-2`]));
});

it('the name of a dead run is claimed at once', async () => {
  const name = randomUUID();
  await redis.client.set(claimKey(name), JSON.stringify(DEAD));
  const ledger = await claim(name);
  expect(ledger.runId).toBe(name);
  await ledger.close(true);
});

it('a run whose number another process has by now is dead', async () => {
  const name = randomUUID();
  const earlier = { ...describeSelf(), startedAt: '1' };
  await redis.client.set(claimKey(name), JSON.stringify(earlier));
  const ledger = await claim(name);
  expect(ledger.runId).toBe(name);
  await ledger.close(true);
});

it('a run that finds its name claimed by another one leaves that alone, and says so once', async () => {
  notices.length = 0;
  const name = randomUUID();
  const ledger = await claim(name);
  expect(await ledger.touch()).toBe(true);
  const other = JSON.stringify({ ...describeSelf(), pid: 4_711, place: 'web-1 boot' });
  await redis.client.set(claimKey(name), other, 'PX', 60_000);
  await ledger.note(new Map([['chunk', ['a.com']]]));
  expect([await ledger.touch(), await ledger.touch()]).toEqual([false, false]);
  expect(notices).toEqual([expect.stringContaining('Another run (process 4711 on web-1)')]);
  await ledger.close(true);
  expect(await redis.client.get(claimKey(name))).toBe(other);
  expect(await redis.client.hkeys(ledgerKey(name))).toContain('chunk');
});

it('a run whose claim was given up again has its name back', async () => {
  const name = randomUUID();
  const ledger = await claim(name);
  await redis.client.set(claimKey(name), JSON.stringify(describeSelf()), 'PX', 60_000);
  expect(await ledger.touch()).toBe(false);
  await redis.client.del(claimKey(name));
  expect(await ledger.touch()).toBe(true);
  await ledger.close(true);
  expect(await redis.client.keys(`*${name}*`)).toEqual([]);
});

it('a run that another one has taken over takes nothing of that away when it ends', async () => {
  const name = randomUUID();
  const queue = await openRunQueue(idleRun(server, name));
  await redis.client.set(claimKey(name), JSON.stringify(describeSelf()), 'PX', 60_000);
  const before = await redis.client.keys(`*${name}*`);
  await queue.close();
  expect(await redis.client.keys(`*${name}*`)).toEqual(expect.arrayContaining(before));
  expect(before).toEqual(expect.arrayContaining([claimKey(name), ledgerKey(name)]));
});
