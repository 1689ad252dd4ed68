import { describe, expect, it } from 'vitest';
import { openApi, openScripted } from './support/api.ts';
import { run, start, summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { column, domains, listOf, rowsOf } from './support/tables.ts';

const MANY = domains(300);

describe('a run that the API stops', () => {
  it('at 401 makes no further call, ends with 4, and goes on with a good credential', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openApi({ auth: { scheme: 'bearer', key: 'good' }, latencyMs: 5 });
    const enrich = (key: string) =>
      run(
        ['enrich', 'list.csv', '--base-url', api.url, '--auth', 'bearer', '--json'].concat([
          '--concurrency',
          '4',
        ]),
        { cwd: folder.path, env: { BRANDFILL_API_KEY: key } },
      );
    const refused = await enrich('bad');
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/401.*BRANDFILL_API_KEY/);
    expect(refused.stderr).toContain('run the same command again to go on');
    expect(summaryOf(refused)).toMatchObject({
      statuses: { skipped: 300 },
      stopped: { reason: 'unauthorized' },
    });
    expect(api.stats().calls).toBeLessThanOrEqual(4);
    expect(column(rowsOf(folder.read('list.failures.csv')), 'brand_reason')[0]).toBe(
      'unauthorized',
    );
    const accepted = await enrich('good');
    expect(accepted.code).toBe(0);
    expect(summaryOf(accepted).statuses.found).toBe(300);
  });

  it('at 401 in the middle keeps what was found', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    let answered = 0;
    const api = await openApi({
      respond: () => {
        answered += 1;
        return answered <= 100 ? { body: {} } : { status: 401 };
      },
    });
    const ended = await run(
      ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '4'],
      { cwd: folder.path },
    );
    expect(ended.code).toBe(4);
    expect(summaryOf(ended).statuses).toMatchObject({ found: 100, skipped: 200 });
    expect(api.stats().calls).toBeLessThanOrEqual(104);
  });

  it('at 402 says that the quota is used up, and the next run goes on', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openApi({ quota: 70 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '4'];
    const first = await run(args, { cwd: folder.path });
    expect(first.code).toBe(4);
    expect(first.stderr).toMatch(/quota/i);
    expect(summaryOf(first)).toMatchObject({
      statuses: { found: 70, skipped: 230 },
      stopped: { reason: 'quota' },
    });
    expect(api.stats().calls).toBeLessThanOrEqual(74);
    api.reset(); // another day
    const second = await run(args, { cwd: folder.path });
    expect(summaryOf(second).statuses).toMatchObject({ found: 140, skipped: 160 });
    expect(api.stats().domains.repeated).toBe(0);
  });

  it('at five 403 in a row takes the credential for refused, and keeps none of them', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    let isAllowed = false;
    const api = await openApi({
      latencyMs: 2,
      respond: () =>
        isAllowed ? { body: {} } : { status: 403, body: { error: 'your plan does not allow it' } },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '4'];
    const refused = await run(args, { cwd: folder.path });
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('403');
    expect(summaryOf(refused)).toMatchObject({
      statuses: { rejected: 0, skipped: 300 },
      stopped: { reason: 'forbidden' },
    });
    expect(api.stats().calls).toBeLessThanOrEqual(5 + 4);
    isAllowed = true;
    expect(summaryOf(await run(args, { cwd: folder.path })).statuses.found).toBe(300);
  });

  it('not at 403 with successes between them: those rows are rejected', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openApi({
      respond: (domain) =>
        Number(/\d+/.exec(domain)?.[0]) % 3 === 0
          ? { status: 403, body: { error: 'not in your plan' } }
          : { body: {} },
    });
    const ended = await run(
      ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '1'],
      { cwd: folder.path },
    );
    expect(ended.code).toBe(0);
    expect(summaryOf(ended).statuses).toMatchObject({ found: 200, rejected: 100 });
    expect(rowsOf(folder.read('list.failures.csv'))[0]).toMatchObject({
      brand_status: 'rejected',
      brand_http_status: '403',
      brand_reason: expect.stringContaining('not in your plan'),
    });
  });
});

describe('Ctrl-C', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '(%s) starts no new call, lets those under way finish, and says how to go on',
    async (signal) => {
      const folder = openFolder();
      folder.write('list.csv', listOf(['company-0.com', ...MANY, 'n/a']));
      const reached = deferred();
      const api = await openApi({
        latencyMs: 60,
        respond: () => {
          if (api.stats().calls === 20) reached.resolve();
          return undefined;
        },
      });
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '8', '--json'];
      const running = await start(args, { cwd: folder.path });
      await reached.promise;
      running.process.kill(signal);
      await running.shows('Interrupted: no further call');
      const ended = await running.ended;

      expect(ended.code).toBe(130);
      expect(ended.stderr).toContain('run the same command again to go on');
      const { calls, abandoned } = api.stats();
      expect(abandoned).toBe(0);
      // Those under way, and those that started while the signal was on its way.
      expect(calls).toBeLessThanOrEqual(20 + 2 * 8);
      const rows = rowsOf(folder.read('list.enriched.csv'));
      expect(column(rows, 'domain')).toEqual(['company-0.com', ...MANY, 'n/a']);
      expect(column(rows, 'brand_status').filter((status) => status === 'found')).toHaveLength(
        calls + 1,
      );
      expect(rows.at(-1)).toMatchObject({ brand_status: 'invalid' });
      expect(rows.at(-2)).toMatchObject({ brand_status: 'skipped' });
      expect(summaryOf(ended)).toMatchObject({ rows: 302, stopped: { reason: 'interrupted' } });

      const again = await run(args, { cwd: folder.path });
      expect(again.code).toBe(0);
      expect(summaryOf(again)).toMatchObject({ calls: 300 - calls, statuses: { found: 301 } });
      expect(api.stats().domains.mostCalls).toBe(1);
    },
  );

  it('twice ends at once, and what was found by then is kept', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const reached = deferred();
    const api = await openApi({
      respond: (domain) => {
        if (Number(/\d+/.exec(domain)?.[0]) < 40) return { body: {} };
        if (api.stats().concurrency.now === 4) reached.resolve();
        return 'hang';
      },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '4'];
    const running = await start(args, { cwd: folder.path });
    await reached.promise;
    running.process.kill('SIGINT');
    await running.shows('Interrupted: no further call');
    const signalledAtMs = performance.now();
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect(ended).toMatchObject({ code: 130, stdout: '' });
    expect(performance.now() - signalledAtMs).toBeLessThan(3_000);
    const dry = await run([...args, '--dry-run', '--json'], { cwd: folder.path });
    const { freshDomains } = JSON.parse(dry.stdout) as { freshDomains: number };
    expect(freshDomains).toBeGreaterThan(0);
    expect(freshDomains).toBeLessThanOrEqual(40);
  });

  it('while standard input is still awaited ends at once, and nothing is left', async () => {
    const folder = openFolder();
    const running = await start(['enrich', '-', '--base-url', 'http://127.0.0.1:9'], {
      cwd: folder.path,
    });
    await new Promise((resolve) => running.process.stdin?.write('domain\nacme.com\n', resolve));
    // The store is made when reading starts; from then on the command waits for more.
    await expect.poll(() => folder.hasStore(), { timeout: 5_000, interval: 20 }).toBe(true);
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toMatch(/^brandfill: Interrupted .*\n$/);
    expect(folder.names()).toEqual([]);
  });

  it('during a wait that the API asked for does not sit it out', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openApi({
      respond: () => ({ status: 429, headers: { 'retry-after': '300' } }),
    });
    const running = await start(
      ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '4'],
      { cwd: folder.path },
    );
    await expect
      .poll(() => api.stats().calls, { interval: 10, timeout: 10_000 })
      .toBeGreaterThan(0);
    running.process.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(api.stats().calls).toBeLessThanOrEqual(4);
  });
});

describe('nobody listening', () => {
  it('on standard error does not stop a run', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openApi({ latencyMs: 5 });
    const running = await start(
      ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '4'],
      { cwd: folder.path },
    );
    running.process.stderr?.destroy();
    expect((await running.ended).code).toBe(0);
    expect(rowsOf(folder.read('list.enriched.csv'))).toHaveLength(300);
  });

  it('on standard output ends the run with 2 and keeps the answers', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--out', '-'];
    const running = await start(args, { cwd: folder.path });
    running.process.stdout?.destroy();
    const ended = await running.ended;
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/Cannot write standard output: whoever read it has closed it\./);
    expect(folder.names()).toEqual(['list.csv']);
    expect((await run(args, { cwd: folder.path })).stdout.split('\n')).toHaveLength(302);
    expect(api.stats().domains.mostCalls).toBe(1);
  });
});

describe('429', () => {
  it('with Retry-After holds back all callers together, and costs no attempt', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(40)));
    const arrivals: number[] = [];
    let throttledAtMs = 0;
    const api = await openApi({
      latencyMs: 10,
      respond: () => {
        const nowMs = performance.now();
        arrivals.push(nowMs);
        if (arrivals.length !== 9) return undefined;
        throttledAtMs = nowMs;
        return { status: 429, headers: { 'retry-after': '1' }, delayMs: 0 };
      },
    });
    const ended = await run(
      ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '8', '--json'].concat([
        '--retries',
        '0',
      ]),
      { cwd: folder.path },
    );
    expect(ended.code).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ calls: 41, throttled: 1, retries: 0 });
    const during = arrivals.filter((at) => at > throttledAtMs + 100 && at < throttledAtMs + 990);
    expect(during).toEqual([]);
    expect(arrivals.at(-1)).toBeGreaterThan(throttledAtMs + 990);
  });

  it('with Retry-After as a date waits until then', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(3)));
    const api = await openApi({
      respond: (_, call) => {
        if (call > 1) return undefined;
        const until = new Date(Math.ceil(Date.now() / 1_000 + 1) * 1_000).toUTCString();
        return { status: 429, headers: { 'retry-after': until } };
      },
    });
    const startedMs = performance.now();
    const ended = await run(['enrich', 'list.csv', '--base-url', api.url], { cwd: folder.path });
    expect(ended.code).toBe(0);
    expect(performance.now() - startedMs).toBeGreaterThan(1_000);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_status')).toEqual([
      'found',
      'found',
      'found',
    ]);
  });

  it('that asks for more than ten minutes is a used-up quota: stops and says when to come back', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(MANY));
    const api = await openApi({
      latencyMs: 5,
      respond: () => ({ status: 429, headers: { 'retry-after': '86400' } }),
    });
    const ended = await run(['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '4'], {
      cwd: folder.path,
    });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/come back at \d{4}-\d\d-\d\dT/);
    expect(api.stats().calls).toBeLessThanOrEqual(4);
  });
});

/** A promise that somebody else resolves. */
function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
