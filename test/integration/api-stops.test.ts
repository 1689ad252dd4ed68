import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/redis.ts';
import { useHttpServer } from '../support/servers.ts';
import { openApi } from './support/api.ts';
import { enrichHere, runHere, startHere, summaryOf } from './support/command.ts';
import { column, openList, rowsOf } from './support/folder.ts';

describe('a run that the API stops', () => {
  it('at 401 makes no further call, ends with 4, and goes on with a good credential', async () => {
    const folder = openList(300);
    const api = await openApi({ auth: { scheme: { kind: 'bearer' }, key: 'good' }, latencyMs: 5 });
    const flags = ['--auth', 'bearer', '--concurrency', '4', '--json'];
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...flags];
    const enrich = (key: string) =>
      runHere(args, { cwd: folder.path, env: { BRANDFILL_API_KEY: key } });
    const refused = await enrich('bad');
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/401.*BRANDFILL_API_KEY/);
    expect(refused.stderr).toContain('once that is fixed, run the same command again');
    const { statuses, stopped } = summaryOf(refused);
    expect([statuses.skipped, stopped?.reason]).toEqual([300, 'unauthorized']);
    expect(api.stats().calls).toBeLessThanOrEqual(5);
    const [failure] = rowsOf(folder.read('list.failures.csv'));
    expect(failure).toMatchObject({ brand_reason: 'unauthorized' });
    const accepted = await enrich('good');
    expect(accepted.code).toBe(0);
    expect(summaryOf(accepted).statuses.found).toBe(300);
  });

  it('at 402 says that the quota is used up, and the next run goes on', async () => {
    const folder = openList(300);
    const api = await openApi({ quota: 70 });
    // Refusals that begin after successes may be a limit.
    const flags = ['--json', '--concurrency', '4', '--max-wait', '2s'];
    const first = await enrichHere(folder, api.url, ...flags);
    expect(first.code).toBe(4);
    expect(first.stderr).toMatch(/quota/i);
    expect(summaryOf(first)).toMatchObject({
      statuses: { found: 70, skipped: 230 },
      stopped: { reason: 'quota' },
    });
    expect(api.stats().calls).toBeLessThanOrEqual(120); // tried ever more seldom, for two seconds
    api.reset(); // another day
    const second = await enrichHere(folder, api.url, ...flags);
    expect(summaryOf(second).statuses).toMatchObject({ found: 140, skipped: 160 });
    expect(api.stats().domains.repeated).toBe(0);
  });

  it('at 503 with a time that is far off says so, and when to come back', async () => {
    const folder = openList(6);
    const reply = { status: 503, headers: { 'Retry-After': '7200' }, body: 'maintenance' };
    const api = await openApi({ respond: () => reply });
    const ended = await enrichHere(folder, api.url, '--json');
    expect(ended.code, ended.stderr).toBe(4);
    expect(ended.stderr).toContain('The API is out (it answers 503) and says to wait longer');
    const { stopped, statuses } = summaryOf(ended);
    expect(stopped).toMatchObject({ reason: 'outage', comeBackAtMs: expect.any(Number) });
    expect(statuses).toMatchObject({ skipped: 6 });
    const failures = rowsOf(folder.read('list.failures.csv'));
    expect(new Set(column(failures, 'brand_reason'))).toEqual(new Set(['http_503']));
  });
});

it('429 and nothing else, without a time, ends run and worker as a used-up quota after the longest wait', async () => {
  const folder = openList(60);
  const api = await openApi({ respond: () => ({ status: 429 }) });
  const flags = ['--max-wait', '2s', '--concurrency', '4'];
  const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: (await useDatabase()).url };
  const worker = startHere(['worker', ...flags], { cwd: folder.path, env });
  await worker.shows('Waiting for lookups');
  const ended = await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path, env });
  expect(ended.code, ended.stderr).toBe(4);
  expect(ended.stderr).toContain('The API has throttled every call for ');
  expect(ended.stderr).toContain('the quota seems to be used up');
  const failures = rowsOf(folder.read('list.failures.csv'));
  expect(new Set(column(failures, 'brand_reason'))).toEqual(new Set(['quota']));
  expect((await worker.ended).code).toBe(4);
});

it('a redirect to a login of its own for each domain ends it after the first few', async () => {
  const folder = openList(600);
  const asked: string[] = [];
  const { url } = await useHttpServer(({ url: target = '' }, answer) => {
    asked.push(target);
    const location = `/login?next=${encodeURIComponent(target)}`;
    if (target.startsWith('/login')) answer.setHeader('content-type', 'text/html').end('<p>Log in');
    else answer.writeHead(302, { location }).end();
  });
  const ended = await enrichHere(folder, url);
  expect(ended.code).toBe(4);
  expect(ended.stderr).toContain('check --base-url');
  expect(asked.filter((target) => target.startsWith('/login')).length).toBeGreaterThanOrEqual(5);
  expect(asked.length).toBeLessThanOrEqual(20);
});
