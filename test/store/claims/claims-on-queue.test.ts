import { existsSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeSelf } from '../../../src/common/owner.ts';
import { useTempFolder } from '../../support/temp-folder.ts';
import { NOBODY_PID, openRun } from './runs.ts';

describe('claims of a run over a queue that is lost', () => {
  /** A run that was killed, and another one that is told when it may take over. */
  function openLost(claimed = ['a.com']) {
    const folder = useTempFolder();
    const gone = { ...describeSelf(), pid: NOBODY_PID };
    const neverAsked = async (_runId: string): Promise<boolean> => true;
    const elsewhere = (runId: string, endLost = neverAsked) => ({ runId, endLost });
    openRun(folder, { self: gone, elsewhere: elsewhere('lost') }).want(...claimed);
    const asked: string[] = [];
    let answer = (_isNoMoreThere: boolean): void => {};
    const endLost = async (runId: string): Promise<boolean> => {
      asked.push(runId);
      return await new Promise((resolve) => {
        answer = resolve;
      });
    };
    const run = openRun(folder, { elsewhere: elsewhere('heir', endLost) });
    return {
      folder,
      elsewhere,
      path: join(folder, gone.token),
      run,
      asked,
      answer: (is: boolean) => answer(is),
    };
  }

  it('stay until what it has there is ended', async () => {
    const { path, run, asked, answer } = openLost();
    expect(run.want('a.com', 'b.com')).toEqual({ granted: ['b.com'], refused: ['a.com'] });
    expect(run.want('a.com').refused).toEqual(['a.com']);
    expect(asked).toEqual(['lost']);
    answer(false);
    await expect.poll(() => (run.want('a.com'), asked)).toHaveLength(2);
    answer(true);
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    expect(existsSync(path)).toBe(false);
  });

  it('stay when it is stopped and could not wait for all', async () => {
    const folder = useTempFolder();
    const gone = { ...describeSelf(), pid: NOBODY_PID };
    const lost: string[] = [];
    const endLost = async (runId: string): Promise<boolean> => lost.push(runId) > 0;
    const stopped = openRun(folder, { self: gone, elsewhere: { runId: 'stopped', endLost } });
    stopped.want('a.com', 'b.com');
    stopped.underWay.delete('b.com');
    stopped.close();
    const run = openRun(folder, { elsewhere: { runId: 'heir', endLost } });
    expect(run.want('a.com', 'b.com').refused).toEqual(['a.com']);
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    expect(lost).toEqual(['stopped']);
  });

  it('leave no file when there were none, when it is taken up by its name, or when it is long ago', () => {
    const { folder, path, elsewhere } = openLost();
    openRun(folder, { elsewhere: elsewhere('lost') }).want('z.com');
    expect(existsSync(path)).toBe(false);
    const old = openLost();
    utimesSync(old.path, 0, 0);
    expect(old.run.want('a.com').granted).toEqual(['a.com']);
    expect(existsSync(old.path)).toBe(false);
    const empty = openLost([]);
    empty.run.want('z.com');
    expect(existsSync(empty.path)).toBe(false);
  });

  it('are nothing to a run that does not want them', () => {
    const { run, asked } = openLost();
    expect(run.want('b.com').granted).toEqual(['b.com']);
    expect(asked).toEqual([]);
  });

  it('stay when it is frozen, until what it has there is ended, and count again when it is thawed', async () => {
    const folder = useTempFolder();
    let nowMs = 0;
    const self = { ...describeSelf(), place: 'another machine' };
    const elsewhere = { runId: 'frozen', endLost: async () => true };
    const frozen = openRun(folder, { self, elsewhere, renewMs: 60_000 });
    frozen.want('a.com');
    const heir = { ...elsewhere, runId: 'heir' };
    const run = openRun(folder, { elsewhere: heir, now: () => nowMs });
    run.want('z.com');
    nowMs += 11_000;
    expect(run.want('a.com').refused).toEqual(['a.com']);
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    frozen.want('b.com');
    nowMs += 600;
    expect(run.want('b.com').refused).toEqual(['b.com']);
  });

  it('are void for a run without a queue', () => {
    const { folder } = openLost();
    expect(openRun(folder).want('a.com').granted).toEqual(['a.com']);
  });
});
