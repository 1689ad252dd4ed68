import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { start, startHere, summaryOf } from './support/command.ts';
import { domains, listOf } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';

describe('enrich --queue', () => {
  it.each([
    ['of its own, whose workers have none', [], ['--rate', '5/s', '--workers', '0']],
    ['of its own, with its own worker', [], ['--rate', '5/s', '--workers', '1']],
    ['of its workers, of whom there are two', ['--rate', '5/s'], ['--workers', '0']],
  ])('keeps the rate %s', async (_, ofWorker, ofRun) => {
    const arrivalsMs: number[] = [];
    const stage = await openStage(15, { respond: () => void arrivalsMs.push(Date.now()) });
    await Promise.all([stage.worker(...ofWorker), stage.worker(...ofWorker)]);
    const ended = await stage.enrich(...ofRun).ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toMatch(/^Pace: held to /m);
    expect(arrivalsMs).toHaveLength(15);
    // In no second are there more than five, but for those that were late on their way.
    const most = Math.max(
      ...arrivalsMs.map(
        (from) => arrivalsMs.filter((at) => at >= from && at < from + 1_000).length,
      ),
    );
    expect(most).toBeLessThanOrEqual(8);
  });

  it('finds a limit that nobody documents, told with 529, with two workers, and loses nothing', async () => {
    let takenMs: number[] = [];
    const stage = await openStage(120, {
      latencyMs: 20,
      respond: () => {
        const nowMs = Date.now();
        takenMs = takenMs.filter((at) => nowMs - at < 1_000);
        if (takenMs.length >= 40) return { status: 529, body: { error: 'busy' } };
        takenMs.push(nowMs);
        return undefined;
      },
    });
    await Promise.all([stage.worker(), stage.worker()]);
    const ended = await stage.enrich('--workers', '0').ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toContain('120 found');
    expect(stage.api.stats().calls).toBeLessThan(240);
  });

  it('takes nothing of another API on the same Redis', async () => {
    const [one, other] = [await openStage(40), await openApi()];
    await one.worker();
    const run = startHere(['enrich', 'list.csv', '--workers', '0', '--store', 'other'], {
      cwd: one.folder.path,
      env: { BRANDFILL_BASE_URL: other.url, BRANDFILL_QUEUE: one.redis.url },
    });
    await run.shows('No worker is there');
    expect((await one.enrich('--workers', '0', '--out', 'one.csv').ended).code).toBe(0);
    expect([one.api.stats().calls, other.stats().calls]).toEqual([40, 0]);
    expect((await run.stop()).code).toBe(130);
  });
});

it.each([
  ['a run', ['enrich', 'long.csv', '--workers', '0', '--store', 'long']],
  ['a backfill', ['add', 'long.csv']],
])(
  'lists that share a queue take turns: a short one is not held up by %s that is long',
  async (_, long) => {
    // Given a long list that workers are at
    const stage = await openStage(100, { latencyMs: 20 });
    const { folder, options, api } = stage;
    folder.write('long.csv', listOf(Array.from({ length: 1_500 }, (_row, at) => `long-${at}.com`)));
    await Promise.all([1, 2].map(() => stage.worker('--concurrency', '4')));
    const other = startHere(long, options);
    await expect.poll(() => api.stats().calls).toBeGreaterThan(60);
    // When a short one comes
    const before = api.stats().calls;
    const ended = await stage.enrich('--workers', '0').ended;
    expect(ended.code, ended.stderr).toBe(0);
    // Then as much is asked for the other meanwhile, beside what workers had and what its end took
    const forOther = api.stats().calls - before - 100;
    expect(forOther).toBeLessThan(100 + 2 * 60 + 300);
    expect(forOther).toBeGreaterThan(50);
    await other.stop();
  },
);

describe('a worker', () => {
  it.each([
    { gets: { status: 403 }, status: 'rejected' },
    { gets: { status: 404, headers: { 'content-type': 'text/html' } }, status: 'not_found' },
  ])(
    'whose first domains all get $gets.status asks about one that others have found, and stays',
    async ({ gets, status }) => {
      const odd = new Set(domains(60));
      const stage = await openStage(200, {
        latencyMs: 20,
        respond: (domain) => (odd.has(domain) ? gets : undefined),
      });
      const workers = await Promise.all([1, 2, 3, 4].map(() => stage.worker('--concurrency', '4')));
      const ended = await stage.enrich('--workers', '0', '--json').ended;
      expect(summaryOf(ended).statuses).toMatchObject({ found: 140, [status]: 60 });
      const left = await Promise.all(workers.map((worker) => worker.stop()));
      expect(left.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    },
  );

  it('keeps its credential out of Redis and out of its log', async () => {
    const stage = await openStage(200, {
      auth: { scheme: { kind: 'bearer' }, key: 'top-secret-key' },
      latencyMs: 50,
    });
    // A bare connection: ioredis trips over a command that is told of while its monitor starts.
    const monitor = connect(stage.redis.port, '127.0.0.1').setEncoding('utf8');
    monitor.on('error', () => {}); // the server ends first
    let seen = '';
    monitor.on('data', (told: string) => {
      seen += told;
    });
    monitor.write('MONITOR\r\n');
    await once(monitor, 'data');
    const worker = await start(['worker', '--auth', 'bearer'], {
      cwd: stage.folder.path,
      env: { ...stage.options.env, BRANDFILL_API_KEY: 'top-secret-key' },
    });
    await worker.shows('Waiting for lookups');
    const ended = await stage.enrich('--workers', '0').ended;
    const { stderr } = await worker.stop();
    monitor.destroy();
    expect(ended.code).toBe(0);
    expect(seen.split('\n').length).toBeGreaterThan(50);
    expect(seen + stderr + ended.stderr).not.toContain('top-secret-key');
  });
});
