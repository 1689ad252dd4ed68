import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RedisClient } from '../../src/queue/redis.ts';
import { systemClock } from '../../src/worker/clock.ts';
import { exchangeInRedis, RedisPace } from '../../src/worker/redis-pace.ts';
import type { Said } from '../../src/worker/shared-pace.ts';
import { useDatabase, useRedis } from '../support/redis.ts';

/** A pace in a real Redis, whose clock is moved by a test. */
async function openPace(kept?: (client: Redis) => Promise<unknown>, url?: string) {
  const client = new Redis(url ?? (await useDatabase()).url);
  await kept?.(client);
  let movedMs = 0;
  const nowMs = (): number => Date.now() + movedMs;
  const moved = {
    del: (key: string) => client.del(key),
    defineCommand: (name: string, { lua }: { readonly lua: string }) => {
      Reflect.set(moved, name, (keys: number, key: string, text: string) => {
        const said = JSON.parse(text) as Said;
        return client.eval(lua, keys, key, JSON.stringify({ ...said, clockMs: nowMs() }));
      });
    },
  };
  const notices: string[] = [];
  const refusals: unknown[] = [];
  const redis = {
    client: moved as unknown as RedisClient,
    refused: (error: unknown) => refusals.push(error),
  };
  const exchange = exchangeInRedis({ redis, key: 'gate' }, (message) => notices.push(message));
  const home = new RedisPace({ exchange, rate: undefined, clock: systemClock, callers: 8 });
  onTestFinished(async () => {
    await home.close();
    client.disconnect();
  });
  return {
    client,
    notices,
    refusals,
    move: (ms: number) => {
      movedMs += ms;
    },
    /** Makes a call as soon as one may start, within two seconds of that. */
    call: async (how: 'good' | 'refused' = 'good', retryAfterMs?: number): Promise<void> => {
      home.wanted(1);
      const isNow = () => home.nextMs() <= systemClock.nowMs();
      await vi.waitUntil(isNow, { timeout: 2_000, interval: 5 });
      const sentAtMs = systemClock.nowMs();
      home.start();
      await delay(5);
      const call = { sentAtMs, latencyMs: 5, inFlight: 1, retryAfterMs };
      home.ended(how, call, systemClock.nowMs());
    },
  };
}

describe('calls go on within moments', () => {
  it.each([
    ['a minute', -60_000],
    ['an hour', -3_600_000],
    ['a year', -31_536_000_000],
  ])('when the clock of Redis goes back by %s', async (_, ms) => {
    const { call, move, notices } = await openPace();
    await call();
    await call('refused', 100);
    move(ms);
    for (let at = 0; at < 3; at += 1) await call();
    move(ms);
    await call('refused', 100);
    for (let at = 0; at < 3; at += 1) await call();
    expect(notices).toEqual([]);
  });

  it.each([
    ['behind', -3_600_000],
    ['ahead', 3_600_000],
  ])('when another Redis, whose clock is an hour %s, knows nothing of it', async (_, ms) => {
    const { call, move, client } = await openPace();
    for (let at = 0; at < 3; at += 1) await call();
    await client.del('gate');
    move(ms);
    await call('refused', 100);
    for (let at = 0; at < 3; at += 1) await call();
  });

  it.each<[what: string, kept: (client: Redis) => Promise<unknown>]>([
    ['a state of another version', (client) => client.set('gate', '{"goods":1}')],
    ['one with other parts', (client) => client.set('gate', '{"goods":1,"pace":7,"workers":[]}')],
    [
      'one with texts for numbers',
      (client) =>
        client.set('gate', '{"goods":1,"pace":{"state":"flowing","shutUntilMs":"x"},"workers":{}}'),
    ],
    ['no JSON', (client) => client.set('gate', 'mine')],
    ['a number', (client) => client.set('gate', '5')],
    ['a list', (client) => client.rpush('gate', 'mine')],
  ])('where Redis has %s, and it is said once', async (_, kept) => {
    const { call, notices, refusals } = await openPace(kept);
    for (let at = 0; at < 3; at += 1) await call();
    expect(notices).toEqual([expect.stringMatching(/could not be read.*found out anew\.$/)]);
    expect(refusals).toEqual([]);
  });

  it('once Redis refuses no more, which is said meanwhile', async () => {
    const { url } = await useRedis();
    const { call, client, notices, refusals } = await openPace(undefined, url);
    await call();
    await client.config('SET', 'maxmemory', '1');
    await vi.waitUntil(() => refusals.length > 0, { timeout: 5_000 });
    await client.config('SET', 'maxmemory', '0');
    await call();
    expect(String(refusals[0])).toMatch(/OOM/);
    expect(notices).toEqual([]);
  });
});
