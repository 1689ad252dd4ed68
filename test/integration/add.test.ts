import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AddOptions, type AddSummary, add, enrich, work } from '../../src/index.ts';
import { LOOKUPS_QUEUE, OUTCOMES_QUEUE, PREFIX } from '../../src/queue/bullmq/names.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { run, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { domains, listOf } from './support/tables.ts';

async function openRedis(...settings: string[]): Promise<TestRedis> {
  const redis = await startRedis({ settings });
  onTestFinished(() => redis.close());
  return redis;
}

function queueOn(redis: TestRedis, name: string = LOOKUPS_QUEUE): Queue {
  const streams = { events: { maxLen: 0 } };
  const queue = new Queue(name, { connection: { port: redis.port }, prefix: PREFIX, streams });
  onTestFinished(() => queue.close());
  return queue;
}

interface Waiting {
  readonly id: string;
  readonly priority: number;
  readonly data: { readonly domains: readonly string[]; readonly [key: string]: unknown };
}

/** The chunks on the queue, in the order in which a worker takes them. */
async function waitingOn(redis: TestRedis): Promise<Waiting[]> {
  const jobs = await queueOn(redis).getJobs(['waiting', 'prioritized'], 0, -1, true);
  return jobs.map(({ id = '', priority, data }) => ({
    id,
    priority,
    data: data as Waiting['data'],
  }));
}

/** Adds a list of so many domains. */
async function addTo(
  redis: TestRedis,
  list: readonly string[],
  options: Omit<AddOptions, 'input' | 'queue'> = {},
): Promise<AddSummary> {
  const input = openFolder().write('list.csv', listOf(list));
  return await add({ input, queue: redis.url, ...options });
}

describe('add', () => {
  it('ends with exit code 3 if no row has a domain, and says what it noticed of the list', async () => {
    const folder = openList('name,domain\n1,Acme,n/a\n2,Bolt,none\n');
    const { code, stderr } = await run(
      ['add', 'list.csv', '--dry-run', '--domain-column', 'domain'],
      {
        cwd: folder.path,
      },
    );
    expect(code).toBe(3);
    expect(stderr).toContain('one cell more than the header');
  });

  it('puts each domain of a list on the queue once, in chunks that name no reply queue', async () => {
    const redis = await openRedis();
    const rows = [...domains(120), 'https://www.company-3.com/about', 'n/a'];
    const summary = await addTo(redis, rows);
    expect(summary).toEqual({
      rows: 122,
      uniqueDomains: 120,
      duplicateRows: 1,
      invalidRows: 1,
      firstInvalid: [{ row: 122, reason: 'empty', cell: 'n/a' }],
      lookups: 120,
      alreadyWaiting: 0,
      notAdded: 0,
      ref: 'list.csv',
      api: undefined,
      isInterrupted: false,
    });
    const waiting = await waitingOn(redis);
    expect(waiting.map(({ data }) => data.domains.length)).toEqual([50, 50, 20]);
    expect(waiting.flatMap(({ data }) => data.domains)).toEqual(domains(120));
    expect(new Set(waiting.map(({ priority }) => priority))).toEqual(new Set([10]));
    expect(waiting[0]?.data).toEqual({ v: 1, domains: domains(50), ref: 'list.csv' });
  });

  it('adds nothing when the same list waits there already', async () => {
    const redis = await openRedis();
    await addTo(redis, domains(70));
    const again = await addTo(redis, domains(70));
    expect(again).toMatchObject({ lookups: 0, alreadyWaiting: 70, notAdded: 0 });
    const longer = await addTo(redis, domains(130));
    expect(longer).toMatchObject({ lookups: 80, alreadyWaiting: 50 });
  });

  it('takes the same domains for others when the reference or the API is another', async () => {
    const redis = await openRedis();
    await addTo(redis, domains(10));
    expect(await addTo(redis, domains(10), { ref: 'other' })).toMatchObject({ lookups: 10 });
    const baseUrl = 'https://api.example.com';
    const summary = await addTo(redis, domains(10), { baseUrl });
    expect(summary).toMatchObject({ lookups: 10, api: expect.stringMatching(/^[\w-]{8}$/) });
    expect(await addTo(redis, domains(10), { baseUrl, params: { a: '1' } })).toMatchObject({
      lookups: 10,
    });
    expect((await waitingOn(redis)).map(({ data }) => data['api'])).toContain(summary.api);
  });

  it('puts what somebody waits for before all other lists', async () => {
    const redis = await openRedis();
    await addTo(redis, domains(10), { ref: 'bulk' });
    await addTo(redis, domains(10), { ref: 'now', interactive: true });
    const waiting = await waitingOn(redis);
    expect(waiting.map(({ data, priority }) => [data['ref'], priority])).toEqual([
      ['now', 0],
      ['bulk', 10],
    ]);
  });

  it('lets the list of a run go first', async () => {
    const [api, redis] = [await openApi({ latencyMs: 20 }), await openRedis()];
    await addTo(redis, domains(1_100).slice(100));
    const input = openFolder().write('run.csv', listOf(domains(100)));
    const { statuses } = await enrich({
      input,
      queue: redis.url,
      baseUrl: api.url,
      concurrency: 2,
      store: openFolder().path,
    });
    expect(statuses.found).toBe(100);
    // Before its first chunk, and while its last one does not keep all callers busy, others are begun.
    expect((await waitingOn(redis)).length).toBeGreaterThan(12);
  });

  it('lets a worker send the outcomes to whoever collects', async () => {
    const redis = await openRedis();
    const api = await openApi();
    await addTo(redis, domains(30), { chunk: 10, ref: 'crm', baseUrl: api.url });
    const stop = new AbortController();
    const working = work({ queue: redis.url, baseUrl: api.url, signal: stop.signal });
    const outcomes = queueOn(redis, OUTCOMES_QUEUE);
    while ((await outcomes.getWaitingCount()) < 3) await delay(20);
    stop.abort();
    await working;
    const jobs = await outcomes.getWaiting();
    const found = jobs.flatMap(({ data }) => data.outcomes as { domain: string; status: string }[]);
    expect(found.map(({ domain }) => domain).toSorted()).toEqual(domains(30).toSorted());
    expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['found']));
    expect(new Set(jobs.map(({ data }) => data.ref))).toEqual(new Set(['crm']));
    expect(api.stats().domains.repeated).toBe(0);
  });

  it('has outcomes of a list that is added again when it is done, also while the first ones wait', async () => {
    const redis = await openRedis();
    const api = await openApi();
    const lookups = queueOn(redis);
    for (const asked of [10, 20]) {
      await addTo(redis, domains(10));
      const stop = new AbortController();
      const working = work({ queue: redis.url, baseUrl: api.url, signal: stop.signal });
      while (Object.values(await lookups.getJobCounts()).some((jobs) => jobs > 0)) await delay(20);
      stop.abort();
      await working;
      expect(api.stats().calls).toBe(asked);
    }
    const replies = await queueOn(redis, OUTCOMES_QUEUE).getWaiting();
    expect(replies.map(({ data }) => data.outcomes.length)).toEqual([10, 10]);
  });

  it('counts without a queue in a dry run', async () => {
    const input = openFolder().write('list.csv', listOf(['a.com', 'a.com', 'b.com']));
    expect(await add({ input, dryRun: true })).toMatchObject({ rows: 3, lookups: 2 });
  });

  it('takes rows from a program', async () => {
    const redis = await openRedis();
    const input = [{ site: 'acme.com' }, { site: 'bolt.com' }];
    const summary = await add({ input, domainColumn: 'site', queue: redis.url });
    expect(summary).toMatchObject({ lookups: 2, ref: 'rows' });
  });

  it('adds nothing when the list turns out to be broken', async () => {
    const redis = await openRedis();
    const input = openFolder().write('list.csv', `${listOf(domains(9_000))}"open`);
    await expect(add({ input, queue: redis.url })).rejects.toThrow(
      /^Cannot read line 9002 of .*quote/,
    );
    expect(await waitingOn(redis)).toEqual([]);
  });

  it('waits for a Redis that is out of memory, and loses nothing', async () => {
    const redis = await openRedis('--maxmemory', '3mb');
    const all = domains(60_000);
    const notices: string[] = [];
    const adding = addTo(redis, all, {
      onNotice: (message) => {
        notices.push(message);
        if (message.includes('out of memory')) void redis.client.config('SET', 'maxmemory', '0');
      },
    });
    expect(await adding).toMatchObject({ lookups: 60_000, alreadyWaiting: 0 });
    expect(notices.join('\n')).toContain('Redis refuses to take lookups: it is out of memory');
    const carried = (await waitingOn(redis)).flatMap(({ data }) => data.domains);
    expect(carried.toSorted()).toEqual(all.toSorted());
  });

  it('stops when it is told to, says how far it got, and adds the rest when it is run again', async () => {
    const redis = await openRedis('--maxmemory', '3mb');
    const stop = new AbortController();
    const summary = await addTo(redis, domains(60_000), {
      signal: stop.signal,
      onNotice: (message) => {
        if (message.includes('out of memory')) stop.abort();
      },
    });
    expect(summary.isInterrupted).toBe(true);
    expect(summary.notAdded).toBeGreaterThan(0);
    expect(summary.lookups + summary.notAdded).toBe(60_000);
    await redis.client.config('SET', 'maxmemory', '0');
    const again = await addTo(redis, domains(60_000));
    expect(again).toMatchObject({ isInterrupted: false, notAdded: 0 });
    expect(again.alreadyWaiting).toBeGreaterThanOrEqual(summary.lookups);
    expect((await waitingOn(redis)).flatMap(({ data }) => data.domains)).toHaveLength(60_000);
  });

  it('stops although Redis is gone', async () => {
    const redis = await openRedis('--maxmemory', '3mb');
    const stop = new AbortController();
    const summary = await addTo(redis, domains(60_000), {
      signal: stop.signal,
      onNotice: (message) => {
        if (message.includes('out of memory')) void redis.kill();
        // By then it waits for an answer, and not for its next try.
        if (message.includes('until it answers')) setTimeout(() => stop.abort(), 1_000);
      },
    });
    expect(summary).toMatchObject({ isInterrupted: true });
  });
});

describe('brandfill add', () => {
  it('reads standard input and says what it did', async () => {
    const redis = await openRedis();
    const { path: cwd } = openFolder();
    const stdin = listOf(['acme.com', 'bolt.com', 'acme.com', 'co.uk']);
    const args = ['add', '-', '--queue', redis.url, '--ref', 'crm 7', '--json'];
    const { code, stdout, stderr } = await run(args, { cwd, stdin });
    expect(code).toBe(0);
    expect(stderr).toContain("Row 4 has no domain (public_suffix): 'co.uk'\n");
    expect(stderr).toContain('4 rows: 2 domains, 1 repeated, 1 invalid\n');
    expect(stderr).toContain("2 lookups put on the queue, with the reference 'crm 7'.\n");
    expect(JSON.parse(stdout)).toMatchObject({ lookups: 2, invalidRows: 1, ref: 'crm 7' });
  });

  it('ends with 130 when it is interrupted', async () => {
    const redis = await openRedis('--maxmemory', '3mb');
    const folder = openList(60_000);
    const adding = await start(['add', 'list.csv', '--queue', redis.url], { cwd: folder.path });
    await adding.shows('out of memory');
    adding.process.kill('SIGINT');
    const { code, stderr } = await adding.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/\d lookups put on the queue.*\nInterrupted: [\d,]+ were not added/);
  });

  it.each([
    ['no queue', [], /--queue.*BRANDFILL_QUEUE/],
    ['a queue that is none', ['--queue', 'redis://127.0.0.1:1'], /nobody listens there/],
    ['a parameter without an API', ['--dry-run', '--param', 'a=b'], /--param.*--base-url/],
    ['an impossible chunk', ['--dry-run', '--chunk', '1001'], /--chunk.*1000/],
    ['no such column', ['--dry-run', '--domain-column', 'site'], /site/],
  ])('ends with 2 and a sentence: %s', async (_, flags, expected) => {
    const folder = openList(listOf(['acme.com']));
    const { code, stderr } = await run(['add', 'list.csv', ...flags], { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toMatch(expected);
  });
});
