import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { column, domains, listOf, rowsOf } from './support/tables.ts';

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
    folder.write('list.csv', listOf(domains(300)));
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
