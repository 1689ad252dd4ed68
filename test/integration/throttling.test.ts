import { describe, expect, it } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { start, summaryOf } from './support/command.ts';
import { type Folder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { column, rowsOf } from './support/tables.ts';

describe('429', () => {
  it('with Retry-After holds back all callers together, and costs no attempt', async () => {
    const folder = openList(40);
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
    const ended = await runHere(
      ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '8', '--json'].concat([
        '--retries',
        '0',
      ]),
      { cwd: folder.path },
    );
    expect(ended.code).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ calls: 41, throttled: 1, retries: 0 });
    // Those under way, however late they arrive.
    const during = arrivals.filter((at) => at > throttledAtMs && at < throttledAtMs + 990);
    expect(during.length).toBeLessThan(8);
    expect(arrivals.at(-1)).toBeGreaterThan(throttledAtMs + 990);
  });
});

/** In this process alone, or with another worker over Redis. */
async function placesOf(folder: Folder, url: string, isShared: boolean, flags: readonly string[]) {
  const env = { BRANDFILL_BASE_URL: url };
  if (!isShared) return { env, worker: undefined };
  const shared = { ...env, BRANDFILL_QUEUE: (await useRedis()).url };
  const worker = await start(['worker', ...flags], { cwd: folder.path, env: shared });
  await worker.shows('Waiting for lookups');
  return { env: shared, worker };
}

describe('429 and nothing else, without a time', () => {
  it.each([
    ['in one process', false],
    ['over Redis', true],
  ])('ends the run as a used-up quota after the longest wait: %s', async (_, isShared) => {
    const folder = openList(60);
    const api = await openApi({ respond: () => ({ status: 429 }) });
    const flags = ['--max-wait', '2s', '--concurrency', '4'];
    const { env, worker } = await placesOf(folder, api.url, isShared, flags);
    const ended = await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path, env });
    expect(ended.code, ended.stderr).toBe(4);
    expect(ended.stderr).toContain('The API has throttled every call for ');
    expect(ended.stderr).toContain('the quota seems to be used up');
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(new Set(column(rows, 'brand_status'))).toEqual(new Set(['skipped']));
    const failures = rowsOf(folder.read('list.failures.csv'));
    expect(new Set(column(failures, 'brand_reason'))).toEqual(new Set(['quota']));
    if (worker) expect((await worker.ended).code).toBe(4);
  });
});
