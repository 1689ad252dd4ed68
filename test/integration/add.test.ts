import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OutcomesData } from '../../src/queue/contract.ts';
import { QUEUE_OPTIONS, streamKey } from '../../src/queue/names.ts';
import { type TestDatabase, useDatabase, useRedis } from '../support/redis.ts';
import { type Ended, run, runHere, startHere } from './support/command.ts';
import { domains, listOf, openFolder, openList } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';

/** The queue of the API at BASE_URL. */
const QUEUE = 'api.test-80';
const BASE_URL = 'http://api.test';

function queueOn(redis: TestDatabase): Queue {
  const connection = { port: redis.port, db: redis.client.options.db ?? 0 };
  const queue = new Queue(QUEUE, { connection, ...QUEUE_OPTIONS });
  onTestFinished(() => queue.close());
  return queue;
}

interface Waiting {
  readonly priority: number;
  readonly data: { readonly domains: readonly string[]; readonly [key: string]: unknown };
}

/** The chunks on the queue, in the order in which a worker takes them. */
async function waitingOn(redis: TestDatabase): Promise<Waiting[]> {
  return await queueOn(redis).getJobs(['waiting', 'prioritized'], 0, -1, true);
}

/** Adds a list of these domains. */
async function addTo(
  { url }: TestDatabase,
  list: readonly string[],
  ...flags: readonly string[]
): Promise<Ended> {
  const folder = openList(listOf(list));
  const args = ['add', 'list.csv', '--queue', url, '--base-url', BASE_URL, '--json', ...flags];
  return await runHere(args, { cwd: folder.path });
}

function countsOf({ stdout }: Ended): { readonly [name: string]: number } {
  return JSON.parse(stdout) as { readonly [name: string]: number };
}

describe('brandfill add', () => {
  it('ends with exit code 3 if no row has a domain, and says which', async () => {
    const rows = ['n/a', 'none'];
    const { code, stderr } = await addTo(await useDatabase(), rows, '--domain-column', 'domain');
    expect(code).toBe(3);
    expect(stderr).toContain("line 2 'n/a' (blank)");
  });

  it('puts each domain of a list on the queue once, in jobs of fifty', async () => {
    const redis = await useDatabase();
    const rows = [...domains(120), 'https://www.company-3.com/about', 'n/a'];
    expect(countsOf(await addTo(redis, rows))).toEqual({
      rows: 122,
      uniqueDomains: 120,
      duplicateRows: 1,
      invalidRows: 1,
      lookups: 120,
      alreadyWaiting: 0,
      notAdded: 0,
      ref: 'list.csv',
      api: QUEUE,
    });
    const waiting = await waitingOn(redis);
    expect(waiting.map(({ data }) => data.domains.length)).toEqual([50, 50, 20]);
    expect(waiting.flatMap(({ data }) => data.domains)).toEqual(domains(120));
    // Each is where the turn of the list is, so that others may go between them.
    expect(waiting.map(({ priority }) => priority)).toEqual([11, 16, 21]);
    expect(waiting[0]?.data).toEqual({ domains: domains(50), ref: 'list.csv' });
  });

  it('adds nothing when the same list waits there already', async () => {
    const redis = await useDatabase();
    await addTo(redis, domains(70));
    const again = await addTo(redis, domains(70));
    expect(countsOf(again)).toMatchObject({ lookups: 0, alreadyWaiting: 70, notAdded: 0 });
    const longer = await addTo(redis, domains(130));
    expect(countsOf(longer)).toMatchObject({ lookups: 60, alreadyWaiting: 70 });
  });

  it('of lists that overlap pays each domain once, and each reference gets its outcomes', async () => {
    // Given three lists that wait before a worker starts
    const { api, worker, redis, folder, options } = await openStage(1);
    const lists = { one: [0, 90], other: [40, 120], third: [30, 60] } as const;
    for (const [ref, [from, to]] of Object.entries(lists)) {
      folder.write(`${ref}.csv`, listOf(domains(to).slice(from)));
      const added = await runHere(['add', `${ref}.csv`, '--ref', ref], options);
      expect(added.code, added.stderr).toBe(0);
    }
    // When a worker has looked all up
    await worker();
    const stream = streamKey(new URL(api.url).host.replace(':', '-'));
    const outcomes = async (): Promise<Record<string, readonly string[]>> => {
      const entries = (await redis.client.xrange(stream, '-', '+')).map(
        ([, [, text = '']]) => JSON.parse(text) as OutcomesData,
      );
      const of = (ref: string): readonly string[] =>
        entries.flatMap((entry) =>
          entry.ref === ref ? entry.outcomes.map(({ domain }) => domain) : [],
        );
      return Object.fromEntries(Object.keys(lists).map((ref) => [ref, of(ref).toSorted()]));
    };
    // Then each list has its own, and nothing was asked twice
    const wanted = Object.entries(lists).map(([ref, [from, to]]) => [
      ref,
      domains(to).slice(from).toSorted(),
    ]);
    await expect.poll(outcomes).toEqual(Object.fromEntries(wanted));
    expect(api.stats()).toMatchObject({ calls: 120, domains: { repeated: 0 } });
  });

  it('puts what somebody waits for before all other lists', async () => {
    const redis = await useDatabase();
    await addTo(redis, domains(10), '--ref', 'bulk');
    await addTo(redis, ['first.com', ...domains(1)], '--ref', 'now', '--interactive');
    const waiting = await waitingOn(redis);
    // What waits among others comes with them.
    expect(waiting.map(({ data, priority }) => [data['ref'], data['also'], priority])).toEqual([
      ['bulk', [{ ref: 'now', domains: domains(1) }], 0],
      ['now', undefined, 0],
    ]);
  });

  it('adds nothing when the list turns out to be broken', async () => {
    const redis = await useDatabase();
    const { code, stderr } = await addTo(redis, [...domains(9_000), '"open']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/Cannot read line 9002 of .*quote/);
    expect(await waitingOn(redis)).toEqual([]);
  });

  it('reads standard input and says what it did', async () => {
    const redis = await useDatabase();
    const { path: cwd } = openFolder();
    const stdin = listOf(['acme.com', 'bolt.com', 'acme.com', 'co.uk']);
    const from = ['add', '-', '--queue', redis.url, '--base-url', BASE_URL];
    const args = [...from, '--ref', 'crm 7', '--json'];
    const { code, stdout, stderr } = await run(args, { cwd, stdin });
    expect(code).toBe(0);
    expect(stderr).toContain("line 5 'co.uk' (");
    expect(stderr).toContain('unique   2 domains\n');
    expect(stderr).toContain("2 lookups put on the queue, with the reference 'crm 7'.\n");
    expect(JSON.parse(stdout)).toMatchObject({ lookups: 2, invalidRows: 1, ref: 'crm 7' });
  });

  /** Starts to add a long list to a Redis that has no room for it. */
  async function addTooMuch() {
    const redis = await useRedis({ settings: ['--maxmemory', '3mb'] });
    const { path: cwd } = openList(60_000);
    const args = ['add', 'list.csv', '--queue', redis.url, '--base-url', BASE_URL, '--json'];
    const adding = startHere(args, { cwd });
    await adding.shows('it is out of memory; raise maxmemory. Trying again');
    return { redis, adding };
  }

  it('waits for a Redis that is out of memory, and loses nothing', async () => {
    const { redis, adding } = await addTooMuch();
    await redis.client.config('SET', 'maxmemory', '0');
    const counts = countsOf(await adding.ended);
    expect(counts).toMatchObject({ lookups: 60_000, alreadyWaiting: 0 });
    const carried = (await waitingOn(redis)).flatMap(({ data }) => data.domains);
    expect(carried.toSorted()).toEqual(domains(60_000).toSorted());
  });

  it('ends with 130 when it is interrupted, says how far it got, and adds the rest when run again', async () => {
    const { redis, adding } = await addTooMuch();
    const ended = await adding.stop('SIGINT');
    expect(ended.code).toBe(130);
    expect(ended.stderr).toMatch(
      /\d lookups put on the queue.*\nInterrupted: [\d,]+ were not added/,
    );
    const { lookups = 0, notAdded = 0 } = countsOf(ended);
    expect(lookups + notAdded).toBe(60_000);
    await redis.client.config('SET', 'maxmemory', '0');
    const again = countsOf(await addTo(redis, domains(60_000)));
    expect(again['notAdded']).toBe(0);
    expect(again['alreadyWaiting']).toBeGreaterThanOrEqual(lookups);
    expect((await waitingOn(redis)).flatMap(({ data }) => data.domains)).toHaveLength(60_000);
  });

  it('ends when it is interrupted although Redis is gone', async () => {
    const { redis, adding } = await addTooMuch();
    await redis.kill();
    await adding.shows('nobody listens there');
    expect((await adding.stop('SIGINT')).code).toBe(130);
  });
});
