import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AddOptions, type AddSummary, add } from '../../src/index.ts';
import { PREFIX } from '../../src/queue/names.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { run, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { domains, listOf } from './support/tables.ts';

/** The queue of the API at BASE_URL. */
const QUEUE = 'api.test';
const BASE_URL = 'http://api.test';

async function openRedis(...settings: string[]): Promise<TestRedis> {
  const redis = await startRedis({ settings });
  onTestFinished(() => redis.close());
  return redis;
}

function queueOn(redis: TestRedis, name: string = QUEUE): Queue {
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
  return await add({ input, queue: redis.url, baseUrl: BASE_URL, ...options });
}

describe('add', () => {
  it('ends with exit code 3 if no row has a domain, and says which', async () => {
    const folder = openList('name,domain\nAcme,n/a\nBolt,none\n');
    const { code, stderr } = await run(
      ['add', 'list.csv', '--dry-run', '--domain-column', 'domain'],
      {
        cwd: folder.path,
      },
    );
    expect(code).toBe(3);
    expect(stderr).toContain("Line 2 has no domain (empty): 'n/a'");
  });

  it('puts each domain of a list on the queue once, in jobs of fifty', async () => {
    const redis = await openRedis();
    const rows = [...domains(120), 'https://www.company-3.com/about', 'n/a'];
    const summary = await addTo(redis, rows);
    expect(summary).toEqual({
      rows: 122,
      uniqueDomains: 120,
      duplicateRows: 1,
      invalidRows: 1,
      firstInvalid: [{ row: 122, line: 123, reason: 'empty', cell: 'n/a' }],
      lookups: 120,
      alreadyWaiting: 0,
      notAdded: 0,
      ref: 'list.csv',
      api: QUEUE,
      isInterrupted: false,
    });
    const waiting = await waitingOn(redis);
    expect(waiting.map(({ data }) => data.domains.length)).toEqual([50, 50, 20]);
    expect(waiting.flatMap(({ data }) => data.domains)).toEqual(domains(120));
    expect(new Set(waiting.map(({ priority }) => priority))).toEqual(new Set([10]));
    expect(waiting[0]?.data).toEqual({ domains: domains(50), ref: 'list.csv' });
  });

  it('adds nothing when the same list waits there already', async () => {
    const redis = await openRedis();
    await addTo(redis, domains(70));
    const again = await addTo(redis, domains(70));
    expect(again).toMatchObject({ lookups: 0, alreadyWaiting: 70, notAdded: 0 });
    const longer = await addTo(redis, domains(130));
    expect(longer).toMatchObject({ lookups: 80, alreadyWaiting: 50 });
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

  it('counts without a queue in a dry run', async () => {
    const list = ['a.com', 'a.com', 'b.com', ...Array.from({ length: 8 }, () => 'n/a')];
    const input = openFolder().write('list.csv', listOf(list));
    const summary = await add({ input, dryRun: true });
    expect(summary).toMatchObject({ rows: 11, lookups: 2, duplicateRows: 1, invalidRows: 8 });
    expect(summary.firstInvalid.map(({ line }) => line)).toEqual([5, 6, 7, 8, 9]);
  });

  it('takes rows from a program', async () => {
    const redis = await openRedis();
    const input = [{ site: 'acme.com' }, { site: 'bolt.com' }];
    const summary = await add({ input, domainColumn: 'site', queue: redis.url, baseUrl: BASE_URL });
    expect(summary).toMatchObject({ lookups: 2, ref: 'rows' });
  });

  it('adds nothing when the list turns out to be broken', async () => {
    const redis = await openRedis();
    const input = openFolder().write('list.csv', `${listOf(domains(9_000))}"open`);
    await expect(add({ input, queue: redis.url, baseUrl: BASE_URL })).rejects.toThrow(
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
    expect(notices.join('\n')).toContain(
      'Redis refuses what adding lookups needs: it is out of memory',
    );
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
    const args = [
      'add',
      '-',
      '--queue',
      redis.url,
      '--ref',
      'crm 7',
      '--json',
      '--base-url',
      BASE_URL,
    ];
    const { code, stdout, stderr } = await run(args, { cwd, stdin });
    expect(code).toBe(0);
    expect(stderr).toContain("Line 5 has no domain (public_suffix): 'co.uk'\n");
    expect(stderr).toContain('4 rows: 2 domains, 1 repeated, 1 invalid\n');
    expect(stderr).toContain("2 lookups put on the queue, with the reference 'crm 7'.\n");
    expect(JSON.parse(stdout)).toMatchObject({ lookups: 2, invalidRows: 1, ref: 'crm 7' });
  });

  it('ends with 130 when it is interrupted', async () => {
    const redis = await openRedis('--maxmemory', '3mb');
    const folder = openList(60_000);
    const adding = await start(['add', 'list.csv', '--queue', redis.url, '--base-url', BASE_URL], {
      cwd: folder.path,
    });
    await adding.shows('out of memory');
    adding.process.kill('SIGINT');
    const { code, stderr } = await adding.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/\d lookups put on the queue.*\nInterrupted: [\d,]+ were not added/);
  });

  it.each([
    ['no queue', [], /--queue.*BRANDFILL_QUEUE/],
    ['no API', ['--queue', 'redis://127.0.0.1:1'], /--api or --base-url/],
    [
      'a queue that is none',
      ['--queue', 'redis://127.0.0.1:1', '--base-url', BASE_URL],
      /nobody listens there/,
    ],
    ['a parameter without an API', ['--dry-run', '--param', 'a=b'], /--param.*--base-url/],
    ['no such column', ['--dry-run', '--domain-column', 'site'], /site/],
  ])('ends with 2 and a sentence: %s', async (_, flags, expected) => {
    const folder = openList(listOf(['acme.com']));
    const { code, stderr } = await run(['add', 'list.csv', ...flags], { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toMatch(expected);
  });
});
