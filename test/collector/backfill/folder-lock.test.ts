import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LockFolderOptions, lockFolder } from '../../../src/collector/backfill/journal.ts';
import { describeSelf, type Owner } from '../../../src/common/owner.ts';
import { openLmdb } from '../../../src/store/lmdb-file.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

async function useLock(): Promise<
  Pick<LockFolderOptions, 'commit' | 'owners' | 'folder' | 'silenceMs'>
> {
  const folder = join(useTempFolder(), '.collect');
  mkdirSync(folder);
  const file = await openLmdb(folder, ({ root }) => ({
    owners: root.openDB<Owner, string>('owner', { encoding: 'json' }),
  }));
  onTestFinished(() => file.close());
  return { ...file, folder, silenceMs: 100 };
}

describe('the lock of a folder', () => {
  it('names its owner to others, and is free when released', async () => {
    const options = await useLock();
    const lock = await lockFolder(options);
    if (!('isOurs' in lock)) throw new Error('It was free.');
    expect(lock.isOurs()).toBe(true);
    expect(await lockFolder(options)).toMatchObject({ pid: process.pid });
    await lock.release();
    expect(await lockFolder(options)).toHaveProperty('isOurs');
  });

  it.each([
    ['whose process is gone', { pid: 2 ** 22 + 1 }],
    ['whose number is that of a later process', { startedAt: '1' }],
    ['in another container, which gives no sign of life', { place: 'elsewhere', pid: 1 }],
  ])('is taken from an owner %s', async (_, more) => {
    const options = await useLock();
    await lockFolder({ ...options, self: { ...describeSelf(), ...more, token: 'other' } });
    // Its signs of life are those of this process; they come every two seconds.
    expect(await lockFolder(options)).toHaveProperty('isOurs');
  });

  it('is not kept by who cannot give signs of life', async () => {
    const options = await useLock();
    const heartbeatFile = join(options.folder, 'beat');
    mkdirSync(heartbeatFile);
    await expect(lockFolder(options)).rejects.toMatchObject({ code: 'EISDIR' });
    rmdirSync(heartbeatFile);
    expect(await lockFolder(options)).toHaveProperty('isOurs');
  });

  it('is left to an owner in another container that gives signs of life', async () => {
    const options = { ...(await useLock()), silenceMs: 2_000, heartbeatMs: 50 };
    await lockFolder({ ...options, self: { ...describeSelf(), place: 'elsewhere' } });
    expect(await lockFolder(options)).toMatchObject({ place: 'elsewhere' });
  });
});
