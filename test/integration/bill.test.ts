import { describe, expect, it } from 'vitest';
import { playProfile } from '../../src/profile/play.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { useDatabase } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { enrichHere, runHere, start, startHere, summaryOf } from './support/command.ts';
import { column, openList, rowsOf } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';

/**
 * An API that bills ten credits for a record and for saying that it is at work, and nothing else.
 */
const PROFILE = `
title: Acme
request: { baseUrl: "http://127.0.0.1:9", path: "/b/{domain}" }
rules: [{ when: { status: 202 }, means: pending, wait: 100ms }]
billing: { unit: credits, price: 10, bills: [found, pending] }
samples:
  - { status: 200, body: { name: Example, domain: example.com }, means: found }
  - { status: 404, means: not_found }
  - { status: 202, means: pending }
`;

async function openBilled(rows: number) {
  const folder = openList(rows);
  folder.write('acme.yaml', PROFILE);
  const api = await openApi({ api: playProfile(parseProfile('acme.yaml', PROFILE)) });
  const args = ['enrich', 'list.csv', '--api', 'acme.yaml', '--base-url', api.url];
  return { api, folder, args };
}

it('what an API bills is in plan, progress, summary and report, in its own unit and exact', async () => {
  const { api, folder, args } = await openBilled(40);
  const place = { cwd: folder.path };
  const plan = await runHere([...args, '--dry-run'], place);
  expect(plan.stderr).toContain('cost     about 400 credits, if none has to be made twice');
  const flags = ['--price', '0.015', '--report', 'run.json', '--report', 'run.html'];
  const ended = await runHere([...args, ...flags], place);
  expect(ended.code, ended.stderr).toBe(0);
  const { charged } = api.stats();
  const records = column(rowsOf(folder.read('list.enriched.csv')), 'brand_status').filter(
    (status) => status === 'found',
  ).length;
  const pending = api.stats().byStatus['202'] ?? 0;
  expect(pending).toBeGreaterThan(0);
  expect(charged).toBe(10 * (records + pending));
  expect(ended.stderr).toContain(
    'cost     about 400 credits (6.00 at 0.015 each), if none has to be made twice',
  );
  expect(ended.stderr).toMatch(new RegExp(`100%, 40 of 40 .* calls/s, ${charged} credits`));
  expect(ended.stderr).toContain(`; billed ${charged} credits; cost `);
  const report = JSON.parse(folder.read('run.json')) as Record<string, unknown>;
  expect(report['bill']).toEqual({ units: charged, unit: 'credits' });
  expect(report['cost']).toBeCloseTo(charged * 0.015);
  const again = summaryOf(await runHere([...args, '--json'], place));
  expect(again).toMatchObject({ calls: 0, bill: { units: 0, unit: 'credits' } });
  expect(again.cost).toBeUndefined();
});

it('a price is not paid for calls that got no connection', async () => {
  const folder = openList(10);
  const ended = await enrichHere(folder, 'http://127.0.0.1:1', '--price', '0.01', '--json');
  const { calls, cost, stopped } = summaryOf(ended);
  expect({ cost, reason: stopped?.reason }).toEqual({ cost: 0, reason: 'misdirected' });
  expect(calls).toBeGreaterThan(0);
});

it('--max-cost stops before more is billed, and the next run goes on; what is not billed goes on in any case', async () => {
  const { api, folder, args } = await openBilled(60);
  const place = { cwd: folder.path };
  const plan = await runHere([...args, '--max-cost', '105', '--dry-run'], place);
  expect(plan.stderr).toContain('cost     at most 105 credits');
  const first = await runHere([...args, '--max-cost', '105', '--json'], place);
  expect(first.code).toBe(4);
  const { bill, stopped, statuses } = summaryOf(first);
  expect(bill).toEqual({ units: 100, unit: 'credits' });
  expect(stopped).toEqual({ reason: 'max_cost' });
  expect(statuses.skipped + statuses.pending).toBeGreaterThan(0);
  expect(api.stats().charged).toBe(100);
  const failures = rowsOf(folder.read('list.failures.csv'));
  expect(column(failures, 'brand_reason')).toContain('max_cost');
  const second = await runHere([...args, '--json'], place);
  expect(second.code, second.stderr).toBe(0);
  expect(summaryOf(second).bill?.units).toBe(api.stats().charged - 100);
});

/** An API that bills five credits for each record, which only its answers say. */
const FIVE = `
title: Five
request: { baseUrl: "http://127.0.0.1:9", path: "/b/{domain}" }
billing: { unit: credits, cost: { header: x-credits-used } }
`;

/** Answers with a record and its cost, and counts what it bills. */
async function useFive(costOf: (call: number) => number = () => 5) {
  let [billed, calls] = [0, 0];
  const { url } = await openServer(({ url: target = '' }, response) => {
    calls += 1;
    const cost = costOf(calls);
    billed += cost;
    response.setHeader('x-credits-used', String(cost));
    setTimeout(() => response.end(JSON.stringify({ name: target, domain: target.slice(3) })), 5);
  });
  const folder = openList(400);
  folder.write('five.yaml', FIVE.replace('http://127.0.0.1:9', url));
  return { folder, billed: () => billed };
}

describe('--max-cost without a price', () => {
  const free = (call: number): number => (call < 4 ? 0 : 5);
  const rises = (call: number): number => (call < 9 ? 1 : 5);

  it.each([
    ['1', '100', undefined, 100, 100],
    ['5', '100', undefined, 100, 100],
    ['60', '100', undefined, 100, 100],
    ['60', '98', undefined, 95, 95],
    ['60', '100', free, 100, 100],
    ['4', '100', rises, 96, 100 + 4 * 4],
  ])('with %s calls at once and a bound of %s', async (concurrency, bound, costOf, least, most) => {
    const { folder, billed } = await useFive(costOf);
    const args = ['enrich', 'list.csv', '--api', 'five.yaml', '--concurrency', concurrency];
    const ended = await runHere([...args, '--max-cost', bound, '--json'], { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(4);
    expect(ended.stderr).toContain(`cost     at most ${bound} credits`);
    expect(summaryOf(ended).bill?.units).toBe(billed());
    expect(billed()).toBeGreaterThanOrEqual(least);
    expect(billed()).toBeLessThanOrEqual(most);
  });

  it('over Redis, with several workers', async () => {
    const { folder, billed } = await useFive();
    const redis = await useDatabase();
    const options = { cwd: folder.path, env: { BRANDFILL_QUEUE: redis.url } };
    const flags = ['--api', 'five.yaml', '--concurrency', '5'];
    for (let count = 0; count < 3; count += 1) {
      await startHere(['worker', ...flags], options).shows('Waiting for lookups');
    }
    const args = ['enrich', 'list.csv', ...flags, '--max-cost', '100', '--json'];
    const ended = await runHere(args, options);
    expect(ended.code, ended.stderr).toBe(4);
    expect([summaryOf(ended).bill?.units, billed()]).toEqual([100, 100]);
  });
});

it.each([
  ['--max-calls', '50', 50],
  ['--max-calls-per', '50/month', 50],
  ['--max-calls', '7', 7],
  ['--max-cost', '50', 50],
])(
  'an API that counts the domains of a batch is asked about no more than %s %s',
  async (flag, bound, most) => {
    // Given batches of twenty, each domain of which counts, and costs one
    const asked: string[] = [];
    const { url } = await openServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const of = new URL(request.url ?? '', 'http://api').searchParams.get('domain');
        const names = of === null ? (JSON.parse(body) as string[]) : [of];
        asked.push(...names);
        const records = names.map((name) => ({ name, domain: name }));
        response.end(JSON.stringify(of === null ? records : records[0]));
      });
    });
    const folder = openList(200);
    folder.write(
      'batched.yaml',
      `request: { baseUrl: "${url}", path: "/one?domain={domain}" }
batch: { path: /batch, body: "{domains}", size: 20, domain: domain, counts: domains }
billing: { unit: credits }
`,
    );
    const args = ['enrich', 'list.csv', '--api', 'batched.yaml', '--json', flag, bound];
    const ended = await runHere([...args, '--concurrency', '4'], { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(4);
    expect(asked).toHaveLength(most);
    expect(summaryOf(ended).statuses).toMatchObject({ found: most, skipped: 200 - most });
  },
);

describe('over Redis', () => {
  it('the bill is exact, and workers of another profile leave the list alone', async () => {
    const stage = await openStage(80, { api: playProfile(parseProfile('acme.yaml', PROFILE)) });
    const { folder, api } = stage;
    folder.write('acme.yaml', PROFILE);
    // The same in another file and words; and one that means something else.
    folder.write('same.yaml', `# the same\n${PROFILE.replace('title: Acme', 'title: Other name')}`);
    folder.write(
      'other.yaml',
      PROFILE.replace('means: pending, wait', 'means: rejected, wait').replace(/samples:[^]*/, ''),
    );
    const at = ['--base-url', api.url];
    const running = stage.enrich('--api', 'acme.yaml', ...at, '--workers', '0', '--json');
    await running.shows('No worker is there to make the lookups');
    const wrong = await stage.worker('--api', 'other.yaml', ...at);
    await running.shows('it is of another API, or of a profile with other rules');
    await stage.worker('--api', 'same.yaml', ...at);
    const ended = await running.ended;
    expect(ended.code, ended.stderr).toBe(0);
    const { bill, statuses } = summaryOf(ended);
    expect(statuses).toMatchObject({ rejected: 0, pending: 0, failed: 0 });
    expect(bill).toEqual({ units: api.stats().charged, unit: 'credits' });
    expect((await wrong.stop()).stderr).toContain('Stopped after 0 calls');
  });

  it('the bound is kept though a worker is killed in the middle, and what it took stays counted', async () => {
    const { stage, enrich } = await openBilledStage(150, { latencyMs: 20 });
    const flags = ['--api', 'acme.yaml', '--concurrency', '4'];
    const killed = await start(['worker', ...flags], stage.options);
    const running = enrich('--max-cost', '700', '--max-calls', '120');
    await expect.poll(() => stage.api.stats().charged).toBeGreaterThan(150);
    await stage.worker(...flags);
    await killed.stop('SIGKILL');
    const ended = await running.ended;
    expect(ended.code, ended.stderr).toBe(4);
    const { bill, stopped } = summaryOf(ended);
    expect(stopped).toEqual({ reason: 'max_cost' });
    const { charged } = stage.api.stats();
    expect(charged).toBeLessThanOrEqual(700);
    // Nobody saw the answers of its calls under way, and of the last thousandths of a second; and
    // what it held for calls that it did not make stays counted.
    expect(Math.abs(charged - (bill?.units ?? 0))).toBeLessThanOrEqual(10 * 2 * 4);
    const rest = await enrich().ended;
    expect(rest.code, rest.stderr).toBe(0);
    expect(summaryOf(rest).bill?.units).toBe(stage.api.stats().charged - charged);
  });
});

/** A list on a queue, and how to enrich it by the profile's API, all by other workers. */
async function openBilledStage(rows: number, options: SandboxOptions = {}) {
  const api = playProfile(parseProfile('acme.yaml', PROFILE));
  const stage = await openStage(rows, { ...options, api });
  stage.folder.write('acme.yaml', PROFILE.replace('http://127.0.0.1:9', stage.api.url));
  return {
    stage,
    enrich: (...flags: readonly string[]) =>
      stage.enrich('--api', 'acme.yaml', '--workers', '0', '--json', ...flags),
  };
}
