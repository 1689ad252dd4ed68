import { describe, expect, it } from 'vitest';
import { PREFIX } from '../../src/queue/bullmq/names.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { useRedis } from '../support/redis.ts';
import { holdCalls, openApi } from './support/api.ts';
import { type Ended, type Running, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { column, domains, listOf, rowsOf } from './support/tables.ts';

const CONCURRENCY = 8;

/** Lists, and runs over them that share a store. Calls are answered once the runs that matter have begun. */
async function openStage(
  lists: Readonly<Record<string, readonly string[]>>,
  api: SandboxOptions,
  isHeld?: (target: string) => boolean,
) {
  const [sandbox, folder] = [await openApi(api), openFolder()];
  const calls = await holdCalls(sandbox, isHeld);
  for (const [name, names] of Object.entries(lists)) folder.write(`${name}.csv`, listOf(names));
  return {
    api: sandbox,
    folder,
    calls,
    allBegin: async (runs: readonly Running[]): Promise<void> => {
      await Promise.all(runs.map((run) => run.shows('calls to make')));
      calls.release();
    },
    enrich: async (name: string, flags: readonly string[] = []): Promise<Running> => {
      const common = ['--base-url', calls.url, '--concurrency', String(CONCURRENCY)];
      return await start(['enrich', `${name}.csv`, ...common, '--progress', 'lines', ...flags], {
        cwd: folder.path,
        stdin: '',
      });
    },
    columnOf: (name: string, wanted: string) =>
      column(rowsOf(folder.read(`${name}.enriched.csv`)), wanted),
  };
}

async function endOf(runs: readonly Running[]): Promise<readonly Ended[]> {
  return await Promise.all(runs.map(({ ended }) => ended));
}

describe('runs at the same time on one store', () => {
  it('never ask about a domain twice, with the same domains in one order or another', async () => {
    const names = domains(400);
    const stage = await openStage(
      { a: names, b: names.toReversed(), c: names },
      { latencyMs: 15, errors: 0.05, notFound: 0.1 },
    );
    const runs = await Promise.all(['a', 'b', 'c'].map((name) => stage.enrich(name)));
    await stage.allBegin(runs);
    const ended = await endOf(runs);
    expect(ended.map(({ code, stderr }) => [code, code === 0 ? '' : stderr])).toEqual(
      ended.map(() => [0, '']),
    );
    expect(stage.api.stats().domains).toMatchObject({ distinct: 400, repeated: 0 });
    expect(stage.columnOf('a', 'domain')).toEqual(names);
    expect(stage.columnOf('b', 'domain')).toEqual(names.toReversed());
    expect(ended.map(({ stderr }) => stderr).join('')).toMatch(
      /Another run has looked up \d+ of the domains in the meantime: they were not looked up again/,
    );
  });

  it('take over what is left of one that is killed, or stopped', async () => {
    const names = domains(160);
    const stage = await openStage({ a: names, b: names, c: names }, { latencyMs: 300 });
    const [a, b, c] = [await stage.enrich('a'), await stage.enrich('b'), await stage.enrich('c')];
    await stage.allBegin([a, b, c]);
    await expect.poll(() => stage.api.stats().calls).toBeGreaterThan(40);
    a.process.kill('SIGKILL');
    b.process.kill('SIGTERM');
    expect((await c.ended).code).toBe(0);
    expect((await b.ended).code).toBe(130);
    expect(new Set(stage.columnOf('c', 'brand_status'))).toEqual(new Set(['found']));
    expect(stage.api.stats().domains.distinct).toBe(160);
    expect(stage.api.stats().domains.repeated).toBeLessThanOrEqual(CONCURRENCY);
  });

  it('do not hold up who tries a domain, and take over its answer', async () => {
    const names = domains(40);
    const [tried = ''] = names.slice(-2);
    const stage = await openStage({ a: names }, {}, (target) => !target.endsWith(`=${tried}`));
    const run = await stage.enrich('a');
    await expect.poll(() => stage.calls.come()).toBeGreaterThan(0);
    const args = ['try', tried, '--base-url', stage.calls.url];
    const trial = await start(args, { cwd: stage.folder.path, stdin: '' });
    expect((await trial.ended).code).toBe(0);
    expect(stage.api.stats().calls).toBe(1);
    stage.calls.release();
    expect((await run.ended).code).toBe(0);
    expect(stage.api.stats().domains).toMatchObject({ distinct: 40, repeated: 0 });
  });

  it('ask each once also when all is to be asked again', async () => {
    const names = domains(120);
    const flags = ['--refresh'];
    const stage = await openStage({ a: names, b: names }, { latencyMs: 300 });
    const runs = [await stage.enrich('a', flags), await stage.enrich('b', flags)];
    await stage.allBegin(runs);
    await endOf(runs);
    const { calls } = stage.api.stats();
    // What the first had asked before the second one started is asked again.
    expect(calls).toBeGreaterThanOrEqual(120);
    expect(calls).toBeLessThan(210);
  });

  it('never ask twice over a queue either', async () => {
    const names = domains(300);
    const stage = await openStage({ a: names, b: names }, { latencyMs: 15 });
    const flags = ['--queue', (await useRedis()).url];
    const runs = [await stage.enrich('a', flags), await stage.enrich('b', flags)];
    await stage.allBegin(runs);
    const ended = await endOf(runs);
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    expect(stage.api.stats().domains).toMatchObject({ distinct: 300, repeated: 0 });
    expect(stage.columnOf('b', 'domain')).toEqual(names);
  });

  it('take over from the workers what one has given them that is killed', async () => {
    const names = domains(120);
    const stage = await openStage({ a: names, b: names }, { latencyMs: 200 });
    const redis = await useRedis();
    const flags = ['--queue', redis.url];
    const a = await stage.enrich('a', [...flags, '--workers', '0']);
    await a.shows('calls to make');
    const findLedgers = async () => await redis.client.keys(`${PREFIX}:run:*`);
    await expect.poll(findLedgers).toHaveLength(1);
    const [ledger = ''] = await findLedgers();
    await expect.poll(() => redis.client.hlen(ledger)).toBeGreaterThan(4);
    const b = await stage.enrich('b', flags);
    await stage.allBegin([b]);
    await expect.poll(() => stage.api.stats().calls).toBeGreaterThan(20);
    a.process.kill('SIGKILL');
    const { code, stderr } = await b.ended;
    expect(code, stderr).toBe(0);
    expect(stderr).toContain(
      'Another run was lost and left lookups on the queue: this run takes them over.',
    );
    expect(stage.api.stats().domains).toMatchObject({ distinct: 120, repeated: 0 });
    expect(stage.columnOf('b', 'domain')).toEqual(names);
    const runId = ledger.split(':').at(-1) ?? '';
    expect(await redis.client.keys(`*${runId}*`)).toEqual([]);
  });
});
