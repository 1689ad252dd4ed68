import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OutputLock } from '../../../src/collector/output/output-lock.ts';
import { type LockedPaths, lockOutputs } from '../../../src/collector/output/output-lock.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

async function lock(paths: LockedPaths): Promise<OutputLock> {
  const taken = await lockOutputs(paths);
  onTestFinished(() => taken.release());
  return taken;
}

const locksIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.endsWith('.lock'));

describe('the locks of a run', () => {
  it('are on all that it writes, and go all at once', async () => {
    const folder = useTempFolder();
    const at = (name: string): string => join(folder, name);
    const paths = { out: at('o'), failures: at('f'), changes: at('c'), manifest: at('m') };
    const taken = await lock(paths);
    taken.assertOurs();
    expect(locksIn(folder)).toEqual(['c.lock', 'f.lock', 'm.lock', 'o.lock']);
    taken.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are none when one of them is not to be had', async () => {
    const folder = useTempFolder();
    const at = (name: string): string => join(folder, name);
    await lock({ out: at('x'), failures: at('z'), changes: undefined });
    const wanted = { out: at('y'), failures: at('w'), changes: at('z') };
    await expect(lockOutputs(wanted)).rejects.toMatchObject({
      code: 'OUTPUT_IN_USE',
      message: expect.stringContaining(`Cannot write ${at('z')}: another run has it`),
    });
    expect(locksIn(folder)).toEqual(['x.lock', 'z.lock']);
  });

  it('are one run’s when two want the same files, in whatever order and by whatever names', async () => {
    const folder = useTempFolder();
    const at = (name: string): string => join(folder, name);
    writeFileSync(at('x'), '');
    writeFileSync(at('y'), '');
    symlinkSync(at('x'), at('z'));
    for (let round = 0; round < 20; round += 1) {
      const ended = await Promise.allSettled([
        lockOutputs({ out: at('x'), failures: at('y'), changes: undefined }),
        lockOutputs({ out: at('y'), failures: at('z'), changes: undefined }),
      ]);
      const taken = ended.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      expect(taken).toHaveLength(1);
      expect(locksIn(folder)).toEqual(['x.lock', 'y.lock']);
      taken[0]?.release();
    }
  });

  it('are asked for in one order, in whatever order and by whatever names they are wanted', async () => {
    const folder = useTempFolder();
    const at = (name: string): string => join(folder, name);
    for (const name of ['x', 'y']) writeFileSync(at(name), '');
    symlinkSync(at('y'), at('a'));
    await lock({ out: at('x'), failures: at('y'), changes: undefined, manifest: at('m') });
    for (const [out, failures] of [
      ['x', 'y'],
      ['y', 'x'],
      ['a', 'x'],
    ] as const) {
      const wanted = { out: at(out), failures: at(failures), changes: undefined };
      await expect(lockOutputs({ ...wanted, manifest: at('m') })).rejects.toThrow(
        `Cannot write ${at('x')}:`,
      );
    }
  });

  it('are only on files', async () => {
    const folder = useTempFolder();
    const paths = { out: '-', failures: '/dev/null', changes: join(folder, 'c') };
    await lock(paths);
    expect(locksIn(folder)).toEqual(['c.lock']);
  });
});
