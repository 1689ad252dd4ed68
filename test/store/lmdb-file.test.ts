import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { openLmdb } from '../../src/store/lmdb-file.ts';
import { useTempFolder } from '../support/temp-folder.ts';

describe('a store', () => {
  it.each(['my.store', '.brandfill', 'acme.com', 'with space', 'größe'])(
    'may lie in a folder called %s',
    async (name) => {
      const folder = join(useTempFolder(), name);
      const { root } = openLmdb(folder);
      await root.put('key', 'value');
      await root.close();
      expect(readdirSync(folder).sort()).toEqual(['data.mdb', 'lock.mdb']);
      const { root: again } = openLmdb(folder);
      expect(again.get('key')).toBe('value');
      await again.close();
    },
  );

  it('begins anew in an empty file, as another process may just have made it', async () => {
    const folder = useTempFolder();
    writeFileSync(join(folder, 'data.mdb'), '');
    const { root } = openLmdb(folder);
    await root.put('key', 'value');
    expect(root.get('key')).toBe('value');
    await root.close();
  });
});

describe('a folder that cannot be a store', () => {
  it('is refused when it is a file', () => {
    const file = join(useTempFolder(), 'list.csv');
    writeFileSync(file, 'domain\n');
    expect(() => openLmdb(file)).toThrow(
      expect.objectContaining({
        code: 'UNUSABLE_STORE',
        message: `Cannot open the store ${file}: there is a file of that name; choose another folder with --store.`,
      }),
    );
    expect(() => openLmdb(join(file, 'store'))).toThrow(
      'a part of the path is not a folder; choose another folder with --store',
    );
    expect(readFileSync(file, 'utf8')).toBe('domain\n');
  });

  it('is refused when it cannot be written to', ({ skip }) => {
    if (process.getuid?.() === 0) skip('root may write anywhere');
    expect(() => openLmdb('/brandfill-store')).toThrow(
      'Cannot open the store /brandfill-store: permission denied',
    );
  });

  it('is refused when it cannot be made', () => {
    expect(() => openLmdb(join(useTempFolder(), 'x'.repeat(300)))).toThrow('the name is too long');
  });

  it('is refused when its file is something else, and left as it is', () => {
    const folder = useTempFolder();
    const bytes = Buffer.alloc(100_000, 'no database ');
    writeFileSync(join(folder, 'data.mdb'), bytes);
    expect(() => openLmdb(folder)).toThrow(
      expect.objectContaining({
        code: 'UNUSABLE_STORE',
        message: `Cannot open the store ${folder}: its file data.mdb is damaged or was not written by Brandfill; choose another folder with --store.`,
      }),
    );
    expect(readFileSync(join(folder, 'data.mdb')).equals(bytes)).toBe(true);
  });

  it.each([1, 24, 27])('is refused when its file is cut after %i bytes', (sizeBytes) => {
    const folder = useTempFolder();
    writeFileSync(join(folder, 'data.mdb'), Buffer.alloc(sizeBytes));
    expect(() => openLmdb(folder)).toThrow('its file data.mdb is damaged');
  });

  it('is refused when another version made it, and left as it is', async () => {
    const folder = useTempFolder();
    await openLmdb(folder).root.close();
    const setVersion = async (version: number): Promise<void> => {
      const root = open({ path: folder, noSubdir: false, maxDbs: 8 });
      await root.openDB<number, string>('meta', { encoding: 'json' }).put('version', version);
      await root.close();
    };
    await setVersion(2);
    expect(() => openLmdb(folder)).toThrow(
      expect.objectContaining({
        code: 'UNUSABLE_STORE',
        message: `Cannot open the store ${folder}: it is of version 2, this Brandfill reads version 1; update Brandfill or choose another folder with --store.`,
      }),
    );
    await setVersion(1);
    await openLmdb(folder).root.close();
  });
});
