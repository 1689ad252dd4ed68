import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CallsPer } from '../../src/calls/budget.ts';
import { enrichRows } from '../../src/index.ts';
import { createSharedCallLedger } from '../../src/queue/call-ledger.ts';
import { openQueueServer } from '../../src/queue/redis.ts';
import { useDatabase, useRedis } from '../support/redis.ts';
import { openApi, openScripted, openServer } from './support/api.ts';
import { enrichHere, runHere, start, startEnrich, summaryOf } from './support/command.ts';
import { column, domains, listOf, openFolder, openList, rowsOf } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';

describe('--max-calls', () => {
  it('over a queue ends the run when retries have used them up, before all is asked', async () => {
    const redis = await useDatabase();
    const folder = openList(60);
    // What would look like an outage were it no answer at all.
    const isOdd = (domain: string): boolean => /[37]\./.test(domain);
    const api = await openApi({
      respond: (domain, call) => (isOdd(domain) && call < 3 ? { body: '{"x' } : undefined),
    });
    const args = ['enrich', 'list.csv', '--queue', redis.url, '--base-url', api.url];
    const bounds = ['--max-calls=60', '--concurrency=4', '--max-failed=100%'];
    const ended = await runHere([...args, ...bounds, '--json'], { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(4);
    const { stopped, statuses, calls } = summaryOf(ended);
    expect(stopped).toEqual({ reason: 'max_calls' });
    expect(statuses.skipped).toBeGreaterThan(0);
    expect(api.stats().calls).toBe(60);
    expect(calls, 'those of lookups that were given up included').toBe(60);
    const again = await runHere([...args, '--json'], { cwd: folder.path });
    expect(summaryOf(again)).toMatchObject({ statuses: { found: 60, skipped: 0 } });
  });

  it.each([
    { queue: 'in process', refused: 10 },
    { queue: 'over a queue', refused: 10 },
    { queue: 'over a queue', refused: 2 },
  ])(
    '$queue ends a run whose last calls were refused $refused domains, where none is left to find out why',
    async ({ queue, refused }) => {
      const found = 20;
      const { enrich, worker, folder, api } = await openStage(found + refused, {
        respond: (domain) => (refusedDomains.has(domain) ? { status: 403 } : undefined),
      });
      const refusedDomains = new Set(domains(found + refused).slice(found));
      const bounds = ['--max-calls', String(found + Math.ceil(refused / 2)), '--json'];
      if (queue === 'over a queue') await worker();
      const ended =
        queue === 'over a queue'
          ? await enrich('--workers', '0', ...bounds).ended
          : await enrichHere(folder, api.url, ...bounds);
      expect(ended.code, ended.stderr).toBe(4);
      const { stopped, statuses } = summaryOf(ended);
      expect(stopped).toEqual({ reason: 'max_calls' });
      expect(statuses).toMatchObject({ found, skipped: refused });
    },
  );

  it.each(['--max-calls=60', '--max-calls-per=100/day'])(
    '%s leaves a call to see that it is the domains at the head of a list which are refused',
    async (bound) => {
      const refused = new Set(domains(40));
      const respond = (domain: string) => (refused.has(domain) ? { status: 403 } : undefined);
      const api = await openApi({ respond });
      const folder = openFolder();
      folder.write('list.csv', listOf(domains(80).slice(40)));
      await enrichHere(folder, api.url, bound);
      folder.write('list.csv', listOf(domains(180)));
      const ended = await enrichHere(folder, api.url, bound, '--json');
      expect(summaryOf(ended).stopped?.reason, ended.stderr).toMatch(/^max_calls/);
      expect(api.stats().calls).toBe(100);
    },
  );

  it.each(['in process', 'over a queue'])(
    '%s pays for what redirects lead to before it asks about more domains',
    async (where) => {
      const { enrich, worker, folder, api } = await openStage(200, {
        latencyMs: 20,
        respond: (domain, call) => {
          const location = `/v1/brand?domain=${domain}&from=old`;
          return call % 2 === 1 ? { status: 302, headers: { location } } : undefined;
        },
      });
      const bounds = ['--max-calls', '60', '--json'];
      if (where === 'over a queue') await worker();
      const ended =
        where === 'over a queue'
          ? await enrich('--workers', '0', ...bounds).ended
          : await enrichHere(folder, api.url, ...bounds);
      expect(api.stats().calls).toBe(60);
      // Half of the calls, but for those that were under way with the last one.
      expect(summaryOf(ended).statuses.found, ended.stderr).toBeGreaterThan(20);
    },
  );

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'over a queue counts what the run had spent that was ended by %s, and then begins anew',
    async (signal) => {
      const { api, worker, enrich, options } = await openStage(90, { latencyMs: 50 });
      await worker('--concurrency', '4');
      const bounds = ['--workers', '0', '--max-calls', '40'];
      const first = await start(['enrich', 'list.csv', ...bounds], options);
      await expect.poll(() => api.stats().calls).toBeGreaterThan(10);
      await first.stop(signal);
      const again = await enrich(...bounds).ended;
      expect(again.code, again.stderr).toBe(4);
      // What a worker had taken ahead for a run that was killed is lost to its bound.
      const { calls } = api.stats();
      expect(calls).toBeLessThanOrEqual(40);
      expect(calls).toBeGreaterThanOrEqual(signal === 'SIGKILL' ? 30 : 40);
      expect((await enrich(...bounds).ended).code).toBe(4);
      expect(api.stats()).toMatchObject({ calls: calls + 40, domains: { repeated: 0 } });
    },
  );
});

it.each<[string, number, number, readonly string[]]>([
  ['in an outage', 503, 0, []],
  ['at a limit until its calls are used up', 429, 4, ['--max-calls', '62']],
])(
  'a run over a queue counts each call that two workers make %s',
  async (_, status, code, bounds) => {
    // Given an API that refuses some calls in the middle of a list, probes included
    let [answered, refused] = [0, 0];
    const respond = () => {
      if (answered < 60 || refused === 12) return void (answered += 1);
      refused += 1;
      return { status };
    };
    const { api, worker, enrich } = await openStage(120, { latencyMs: 20, respond });
    await Promise.all([worker('--concurrency', '4'), worker('--concurrency', '4')]);
    // When two workers look it up
    const ended = await enrich('--workers', '0', '--json', ...bounds).ended;
    // Then the run has made as many calls as the API has seen
    expect(ended.code, ended.stderr).toBe(code);
    expect(summaryOf(ended).calls).toBe(api.stats().calls);
  },
);

it('--max-calls, where connections end counts each request that is made again', async () => {
  // Given a server that answers three requests on a connection, and closes it at the fourth
  const answered = new WeakMap<object, number>();
  const { url, requests } = await openServer(({ url: target = '', socket }, response) => {
    const count = answered.get(socket) ?? 0;
    answered.set(socket, count + 1);
    if (count === 3) socket.destroy();
    else response.end(JSON.stringify({ name: target }));
  });
  const folder = openList(400);
  const bounds = ['--max-calls', '300', '--concurrency', '5', '--json'];
  const ended = await enrichHere(folder, url, ...bounds);
  const { calls, statuses, stopped } = summaryOf(ended);
  expect([requests.length, calls, stopped?.reason]).toEqual([300, 300, 'max_calls']);
  expect(statuses.failed).toBe(0);
});

it('answers of a clock that was ahead are not paid again, and are as old as they were first seen', async () => {
  // Given a store whose answers are dated two months ahead
  const [api, folder] = [await openApi(), openList(20)];
  const place = { cwd: folder.path };
  const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--store'];
  await runHere([...args, 'first'], place);
  const { stdout } = await runHere(['store', 'export', '--store', 'first'], place);
  const ahead = new Date(Date.now() + 60 * 86_400_000).toISOString();
  folder.write('ahead.jsonl', stdout.replaceAll(/(?<="fetched_at":")[^"]+/g, ahead));
  await runHere(['store', 'import', 'ahead.jsonl', '--store', 'second'], place);
  // When the same list is enriched by it, by a dry run first
  await runHere([...args, 'second', '--dry-run'], place);
  expect((await runHere(['store', 'export', '--store', 'second'], place)).stdout).toContain(ahead);
  const again = await runHere([...args, 'second'], place);
  // Then nothing is asked
  expect(summaryOf(again)).toMatchObject({ calls: 0, statuses: { found: 20 } });
  const after = await runHere(['store', 'export', '--store', 'second'], place);
  expect(after.stdout).not.toContain(ahead);
  expect(api.stats().calls).toBe(20);
});

it('--rate is kept though the process is killed again and again', async () => {
  const [api, folder] = [await openApi(), openList(200)];
  const startMs = performance.now();
  for (let kills = 0; kills < 4; kills += 1) {
    const { calls } = api.stats();
    const running = await startEnrich(folder, api.url, '--rate', '40/min');
    await expect.poll(() => api.stats().calls).toBeGreaterThan(calls);
    await running.stop('SIGKILL');
  }
  const seconds = (performance.now() - startMs) / 1_000;
  expect(api.stats().calls).toBeLessThanOrEqual((40 / 60) * seconds + 1);
});

it('--max-calls, where Redis loses its memory with the run is never exceeded: the store of the run counts too', async () => {
  // Given a run that helps itself over a Redis without a log
  const [redis, api, folder] = [await useRedis(), await openApi({ latencyMs: 50 }), openList(400)];
  const place = {
    cwd: folder.path,
    env: { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url },
  };
  const args = ['enrich', 'list.csv', '--max-calls', '200', '--concurrency', '4', '--json'];
  // When both are killed in the middle, and started again
  const first = await start(args, place);
  await expect.poll(() => api.stats().calls).toBeGreaterThan(80);
  await Promise.all([first.stop('SIGKILL'), redis.kill()]);
  await redis.start();
  const again = await runHere(args, place);
  // Then the bound holds, and what is lost of it is no more than was ahead
  expect(again.code, again.stderr).toBe(4);
  expect(api.stats().calls).toBeLessThanOrEqual(200);
  expect(api.stats().calls).toBeGreaterThan(120);
});

describe('the bounds of a run in a program', () => {
  const rows = (from: number) =>
    domains(from + 30)
      .slice(from)
      .map((domain) => ({ domain }));

  /** Takes so many rows of a list, and then no more. */
  async function readRows(
    count: number,
    options: Parameters<typeof enrichRows>[0],
  ): Promise<readonly string[]> {
    const statuses: string[] = [];
    for await (const row of enrichRows(options)) {
      statuses.push(String(row['brand_status']));
      if (statuses.length === count) break; // `return()` of the generator
    }
    return statuses;
  }

  it.each<[string, { readonly runName?: string }, { readonly runName?: string }]>([
    ['of another list of objects are its own', {}, {}],
    [
      'that was read in part begin anew with the next run of its name',
      { runName: 'a' },
      { runName: 'a' },
    ],
  ])('%s', async (_, first, second) => {
    const [api, folder] = [await openApi(), openFolder()];
    const options = { baseUrl: api.url, store: folder.at('store'), maxCalls: 10, yes: true };
    await readRows(1, { ...options, ...first, input: rows(0) });
    expect(api.stats().calls).toBe(10);
    const statuses = await readRows(99, { ...options, ...second, input: rows(100) });
    expect(statuses.filter((status) => status === 'found')).toHaveLength(10);
  });

  it.each<[string, { readonly runName?: string }, number]>([
    ['with a name has what it left', { runName: 'night' }, 10],
    ['without one begins anew', {}, 16],
  ])('one that was interrupted %s', async (_, named, calls) => {
    const [api, folder] = [await openApi({ latencyMs: 20 }), openFolder()];
    const stop = new AbortController();
    const options = { ...named, baseUrl: api.url, store: folder.at('store'), maxCalls: 10 };
    const first = readRows(99, { ...options, input: rows(0), concurrency: 1, signal: stop.signal });
    await expect.poll(() => api.stats().calls).toBeGreaterThanOrEqual(6);
    stop.abort();
    await first;
    const made = api.stats().calls;
    await readRows(99, { ...options, input: rows(100) });
    expect(api.stats().calls).toBe(calls === 10 ? 10 : made + 10);
  });
});

it('--max-calls, where Redis is emptied is kept to, and used to its end', async () => {
  const { api, worker, enrich, redis } = await openStage(150, { latencyMs: 50 });
  await worker('--concurrency', '4');
  await worker('--concurrency', '4');
  const running = enrich('--workers', '0', '--max-calls', '90');
  await expect.poll(() => api.stats().calls).toBeGreaterThan(30);
  await redis.client.flushdb();
  const ended = await running.ended;
  expect(ended.code, ended.stderr).toBe(4);
  expect(api.stats().calls, ended.stderr).toBe(90);
});

/** A month, so that no test runs past the end of a window, but once in a month. */
const LIMIT: CallsPer = { count: 100, unit: 'month' };
const never = new AbortController().signal;

describe('--max-calls-per', () => {
  it('ends the run like --max-calls, and counts the calls of all runs on the store', async () => {
    const folder = openList(30);
    const api = await openScripted({});
    const enrich = (per: string) => enrichHere(folder, api.url, '--json', '--max-calls-per', per);
    const first = await enrich('12/month');
    expect(first.code).toBe(4);
    expect(first.stderr).toMatch(
      /All calls of --max-calls-per are made.*The next may be made from \d{4}-\d{2}-01T00:00:00.000Z on\./,
    );
    expect(summaryOf(first)).toMatchObject({
      calls: 12,
      statuses: { found: 12, skipped: 18 },
      stopped: { reason: 'max_calls_per' },
      callsPer: { count: 12, unit: 'month', used: 12, left: 0 },
    });
    expect(column(rowsOf(folder.read('list.failures.csv')), 'brand_reason')).toContain(
      'max_calls_per',
    );
    const second = summaryOf(await enrich('12/month'));
    expect(second).toMatchObject({ calls: 0, statuses: { found: 12, skipped: 18 } });
    const more = await enrich('40/month');
    expect(more.code).toBe(0);
    expect(summaryOf(more)).toMatchObject({ calls: 18, statuses: { found: 30, skipped: 0 } });
    expect(api.stats().domains).toMatchObject({ distinct: 30, mostCalls: 1 });
  });

  it('leaves over what is asked first next time, so that it goes round the whole list', async () => {
    const folder = openFolder();
    const names = domains(10);
    const api = await openApi();
    const night = async (list: readonly string[], ...bounds: readonly string[]) => {
      folder.write('list.csv', listOf(list));
      // One after the other, so that the first in line are those that are asked.
      const flags = ['--fresh', '0', '--concurrency', '1', ...bounds];
      const before = new Map(list.map((domain) => [domain, api.callsOf(domain).calls]));
      await enrichHere(folder, api.url, '--json', ...flags);
      return list.filter((domain) => api.callsOf(domain).calls > (before.get(domain) ?? 0));
    };
    // The first calls of all go to domains all over the list.
    const first = await night(names, '--max-calls-per', '4/month');
    expect(first).toHaveLength(4);
    const left = names.filter((name) => !first.includes(name));
    const second = ['new.com', ...names];
    // Those that were never asked.
    expect(await night(second, '--max-calls', '4')).toEqual(['new.com', ...left.slice(0, 3)]);
    const third = await night(second, '--max-calls', '4');
    expect(third).toEqual(expect.arrayContaining(left.slice(3)));
  });

  it('loses the calls under way with a process that is killed', async () => {
    const folder = openList(400);
    const api = await openApi({ latencyMs: 5 });
    const bounds = ['--max-calls-per', '100/month', '--concurrency', '4'];
    const killed = await startEnrich(folder, api.url, ...bounds);
    while (api.stats().calls < 20) await delay(2);
    await killed.stop('SIGKILL');
    await enrichHere(folder, api.url, ...bounds);
    const { calls } = api.stats();
    expect(calls).toBeLessThanOrEqual(100);
    // As many as callers may be under way, and as many be waiting for their turn.
    expect(calls).toBeGreaterThanOrEqual(100 - 4 - 4);
  });
});

/** A database of Redis, and a queue in it. */
async function openDatabase() {
  const { client, url } = await useDatabase();
  const redis = await openQueueServer({ url, onNotice: () => {} });
  onTestFinished(redis.close);
  return { client, redis };
}

describe('over a queue', () => {
  it('calls are counted in Redis, for each credential by itself', async () => {
    const { client, redis } = await openDatabase();
    const open = (id: string) => createSharedCallLedger(redis, id, LIMIT);
    const ledger = open('one');
    const taken = await Promise.all(
      Array.from({ length: 60 }, () => ledger.take(2, undefined, never)),
    );
    expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(100);
    const { window, nowMs } = await ledger.take(2, undefined, never);
    await ledger.giveBack(3, window);
    await ledger.giveBack(3, { ...window, id: '1999-12' });
    expect((await ledger.take(5, undefined, never)).count).toBe(3);
    expect((await open('two').take(2, undefined, never)).count).toBe(2);
    const [key = ''] = await client.keys('*taken:one*');
    expect(await client.pttl(key)).toBeGreaterThan(window.endsAtMs - nowMs);
  });

  it('what is given back counts once though its answer is lost, and a Redis that lost the count is told it', async () => {
    const { client, redis } = await openDatabase();
    const ledger = createSharedCallLedger(redis, 'one', LIMIT);
    const { window } = await ledger.take(10, undefined, never);
    const giving = ledger.giveBack(3, window);
    for (let turns = 0; turns < 5; turns += 1) await Promise.resolve(); // until it is sent
    if (redis.client instanceof Redis) redis.client.stream.destroy();
    await giving;
    expect((await ledger.read()).taken).toBe(7);
    await client.flushdb();
    expect((await ledger.take(95, undefined, never)).count).toBe(93);
  });

  it.each<[string, CallsPer['unit'], readonly number[], number]>([
    ['back by 30 s over the end of a minute', 'minute', [30, 0], 100],
    ['forth by minutes, and back', 'minute', [0, 300, 0], 200],
    ['back by a day', 'day', [86_400, 0, 86_400], 100],
  ])("though Redis's clock goes %s", async (_, unit, seconds, made) => {
    const { redis } = await openDatabase();
    const noon = Date.parse('2026-11-21T12:00:40Z') / 1_000;
    let now = noon;
    redis.client.time = async () => [now, 0];
    const open = () => createSharedCallLedger(redis, 'one', { count: 100, unit });
    let taken = 0;
    for (const second of seconds) {
      now = noon + second;
      for (const ledger of [open(), open()]) {
        taken += (await ledger.take(70, undefined, never)).count;
      }
    }
    expect(taken).toBe(made);
  });

  it('a worker that has used them up says when there will be more, and ends with 4', async () => {
    const { api, worker, enrich } = await openStage(30);
    const working = await worker('--max-calls-per', '5/month');
    const waiting = enrich('--workers', '0');
    const ended = await working.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(
      /All calls of --max-calls-per are made.*The next may be made from/,
    );
    expect(api.stats().calls).toBe(5);
    await worker();
    expect((await waiting.ended).code).toBe(0);
    expect(api.stats()).toMatchObject({ calls: 30, domains: { repeated: 0 } });
  });
});
