import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type LockOutputOptions,
  lockOutput,
  type OutputLock,
} from '../../../src/collector/output/output-lock.ts';
import { createLockLink } from '../../../src/common/lock-link.ts';
import { describeSelf, type Owner } from '../../../src/common/owner.ts';
import { makeReadOnly } from '../../support/read-only.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

async function lock(path: string, options?: LockOutputOptions): Promise<OutputLock> {
  const taken = await lockOutput(path, options);
  onTestFinished(() => taken.release());
  return taken;
}

describe('the lock of an output', () => {
  it('keeps others out until it is released, and names who has it', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'out.csv');
    const first = await lock(path);
    first.assertOurs();
    await expect(lockOutput(path)).rejects.toMatchObject({
      code: 'OUTPUT_IN_USE',
      message: expect.stringMatching(
        new RegExp(`^Cannot write ${path}: another run has it \\(process ${process.pid} on .+\\)`),
      ),
    });
    first.release();
    expect(readdirSync(folder)).toEqual([]);
    await lock(path);
  });

  it.each([true, false])('is one for a file and for a link to it (there: %s)', async (isThere) => {
    const folder = useTempFolder();
    if (isThere) writeFileSync(join(folder, 'out.csv'), 'before');
    symlinkSync(join(folder, 'out.csv'), join(folder, 'link.csv'));
    await lock(join(folder, 'link.csv'));
    await expect(lockOutput(join(folder, 'out.csv'))).rejects.toThrow(/another run/);
  });

  it.each(['-', '/dev/null'])('there is none on %s', async (path) => {
    await lock(path);
    await lock(path);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it.each([
    ['whose process is gone', { pid: 2 ** 22 + 1 }],
    ['whose number is that of a later process', { startedAt: '1' }],
    ['in another container, which gives no sign of life', { place: 'elsewhere', pid: 1 }],
  ])('is taken from a run %s, which then writes nothing', async (_, more) => {
    const folder = useTempFolder();
    const path = join(folder, 'out.csv');
    const lost = await lock(path, { self: { ...describeSelf(), ...more, token: 'other' } });
    // Its signs of life are those of this process; they come every two seconds.
    const taken = await lock(path, { silenceMs: 100 });
    taken.assertOurs();
    expect(() => lost.assertOurs()).toThrow(/process \d+ on .+ has taken its lock/);
    lost.release();
    expect(readdirSync(folder)).toEqual(['out.csv.lock']);
  });

  it('of a run that is gone is looked at again in turn, when a faster run may have taken it', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'out.csv');
    const write = (holder: Owner): void =>
      writeFileSync(`${path}.lock`, JSON.stringify({ ...holder, since: 'now' }));
    write({ ...describeSelf(), pid: 2 ** 22 + 1, token: 'gone' });
    const turn = createLockLink(`${path}.lock.turn`);
    const mark = await turn.acquire();
    const slow = lockOutput(path);
    const refused = expect(slow).rejects.toThrow(/another run has it/);
    // Once it waits for its turn, some milliseconds at a time, it has seen that the run is gone.
    const waits = vi.spyOn(Math, 'random');
    await expect.poll(() => waits.mock.calls.length).toBeGreaterThan(0);
    waits.mockRestore();
    write({ ...describeSelf(), token: 'faster' });
    turn.release(mark);
    await refused;
    expect(readdirSync(folder)).toEqual(['out.csv.lock']);
  });

  it('released while its folder is read-only, it keeps a later run of the process out no longer than that', async ({
    skip,
  }) => {
    const folder = useTempFolder();
    const path = join(folder, 'out.csv');
    const first = await lock(path);
    const makeWritable = makeReadOnly(folder) ?? skip('this process may not make it read-only');
    first.release();
    await expect(lockOutput(path)).rejects.toMatchObject({ code: 'UNWRITABLE_OUTPUT' });
    makeWritable();
    (await lock(path)).assertOurs();
    expect(readdirSync(folder)).toEqual(['out.csv.lock']);
  });

  it('blames nobody when it went with its folder', async () => {
    const folder = useTempFolder();
    const lost = await lock(join(folder, 'out.csv'));
    rmSync(folder, { recursive: true });
    expect(() => lost.assertOurs()).toThrow(/its lock .+ is gone, as when its folder was removed/);
  });

  it('lost to a run that cannot be read, it names no process', async () => {
    const path = join(useTempFolder(), 'out.csv');
    const lost = await lock(path);
    writeFileSync(`${path}.lock`, '{"pid"');
    expect(() => lost.assertOurs()).toThrow(
      `Cannot write ${path}: another run has taken its lock ${path}.lock while this run gave no sign of life;`,
    );
  });

  it('is left to a run in another container that gives signs of life', async () => {
    const path = join(useTempFolder(), 'out.csv');
    await lock(path, { self: { ...describeSelf(), place: 'elsewhere 1' }, heartbeatMs: 50 });
    await expect(lockOutput(path, { silenceMs: 2_000 })).rejects.toThrow(/on elsewhere,/);
  });

  it('is taken once when a stale one is found by many', async () => {
    const path = join(useTempFolder(), 'out.csv');
    await lock(path, { self: { ...describeSelf(), pid: 2 ** 22 + 1 } });
    const tries = Array.from({ length: 20 }, () => lock(path));
    const ended = await Promise.allSettled(tries);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('half written, it is waited for and then taken', async () => {
    const path = join(useTempFolder(), 'out.csv');
    writeFileSync(`${path}.lock`, '{"pid"');
    await lock(path, { silenceMs: 100 });
  });

  it('that cannot be read, as that of another user, keeps others out at once', async () => {
    const path = join(useTempFolder(), 'out.csv');
    mkdirSync(`${path}.lock`); // whoever tests may read every file
    await expect(lockOutput(path)).rejects.toThrow(
      `Cannot write ${path}: another run has it (see ${path}.lock); wait until that ends, or choose another output.`,
    );
    expect(existsSync(`${path}.lock`)).toBe(true);
  });

  it('says why it cannot be made', async () => {
    const folder = join(useTempFolder(), 'none');
    await expect(lockOutput(join(folder, 'out.csv'))).rejects.toMatchObject({
      code: 'UNWRITABLE_OUTPUT',
      message: `Cannot write ${folder}/out.csv: there is no folder ${folder}; make it first.`,
    });
  });
});
