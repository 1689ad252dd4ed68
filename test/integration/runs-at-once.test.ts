import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { holdCalls, openApi } from './support/api.ts';
import {
  type Ended,
  type Running,
  runHere,
  type Started,
  start,
  startHere,
} from './support/command.ts';
import { column, domains, listOf, openFolder, rowsOf } from './support/folder.ts';

const CONCURRENCY = 8;

/**
 * Lists, and runs over them that share a store. Calls are answered once the runs that matter have
 * begun.
 */
async function openStage(
  lists: Readonly<Record<string, readonly string[]>>,
  api: SandboxOptions,
  isHeld?: (target: string) => boolean,
) {
  const [sandbox, folder] = [await openApi(api), openFolder()];
  const calls = await holdCalls(sandbox, isHeld);
  for (const [name, names] of Object.entries(lists)) folder.write(`${name}.csv`, listOf(names));
  const options = { cwd: folder.path };
  const enrich = (name: string, ...flags: readonly string[]): readonly string[] =>
    ['enrich', `${name}.csv`, '--base-url', calls.url, '--concurrency', `${CONCURRENCY}`].concat(
      flags,
    );
  return {
    api: sandbox,
    folder,
    calls,
    /** Starts a run in a process of its own. */
    enrichApart: async (name: string, ...flags: readonly string[]): Promise<Running> => {
      const run = await start(enrich(name, ...flags), options);
      await run.shows(' to make');
      return run;
    },
    /** Starts one in this process. */
    enrich: (name: string): Started => startHere(enrich(name), options),
    does: (...args: readonly string[]): Promise<Ended> => runHere(args, options),
    columnOf: (name: string, wanted: string) =>
      column(rowsOf(folder.read(`${name}.enriched.csv`)), wanted),
  };
}

describe('runs at the same time on one store', () => {
  it('go one after the other, say who has it, and ask about no domain twice', async () => {
    const names = domains(200);
    const stage = await openStage({ a: names, b: names.toReversed() }, { notFound: 0.1 });
    const first = await stage.enrichApart('a');
    const second = stage.enrich('b');
    await second.shows(`in use by process ${first.process.pid} on`);
    stage.calls.release();
    expect([(await first.ended).code, (await second.ended).code]).toEqual([0, 0]);
    expect(stage.api.stats().domains).toMatchObject({ distinct: 200, repeated: 0 });
    expect(stage.columnOf('b', 'domain')).toEqual(names.toReversed());
  });

  it('do not wait where they are told not to, nor do commands that look after the store', async () => {
    const stage = await openStage({ a: domains(20), b: domains(20) }, {});
    const first = stage.enrich('a');
    await expect.poll(() => stage.calls.come()).toBeGreaterThan(0);
    const said = new RegExp(`it is in use by process ${process.pid} on .*, since 20`);
    for (const args of [
      ['enrich', 'b.csv', '--base-url', stage.calls.url, '--no-wait'],
      ['store', 'stats'],
      ['store', 'prune', '--older-than', '1d'],
    ]) {
      const ended = await stage.does(...args);
      expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(said) });
    }
    stage.calls.release();
    expect((await first.ended).code).toBe(0);
  });

  it('take over what is left of one that is killed, at once', async () => {
    const names = domains(160);
    const stage = await openStage({ a: names, b: names }, { latencyMs: 100 });
    const first = await stage.enrichApart('a');
    const second = stage.enrich('b');
    await second.shows('in use by');
    stage.calls.release();
    await expect.poll(() => stage.api.stats().calls).toBeGreaterThan(40);
    await first.stop('SIGKILL');
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(new Set(stage.columnOf('b', 'brand_status'))).toEqual(new Set(['found']));
    expect(stage.api.stats().domains.distinct).toBe(160);
    // Those under way, and those that were answered just before the commit.
    expect(stage.api.stats().domains.repeated).toBeLessThanOrEqual(2 * CONCURRENCY);
  });

  it('end at a Ctrl-C while they wait', async () => {
    const stage = await openStage({ a: domains(20), b: domains(20) }, {});
    const first = stage.enrich('a');
    await expect.poll(() => stage.calls.come()).toBeGreaterThan(0);
    const second = stage.enrich('b');
    await second.shows('in use by');
    expect((await second.stop('SIGINT')).code).toBe(130);
    stage.calls.release();
    expect((await first.ended).code).toBe(0);
  });
});
