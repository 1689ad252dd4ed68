import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { openTables } from '../../src/store/tables.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const SAVED = { file: 'a.com.png', sizeBytes: 70, mark: 'x' };

it('notes of logos are kept by API and domain, for every process on the store', async () => {
  const folder = useTempFolder();
  const one = await openStore(folder, 'one');
  const other = await openStore(folder, 'other');
  expect(one.logos.find('a.com')).toBeUndefined();
  await one.logos.put('a.com', { saved: SAVED, atMs: 1 });
  await other.logos.put('a.com', { missing: { reason: 'http_404', mark: 'y:1' }, atMs: 2 });
  await Promise.all([one.close(), other.close()]);
  const again = await openStore(folder, 'one');
  onTestFinished(() => again.close());
  expect(again.logos.find('a.com')).toEqual({ saved: SAVED, missing: undefined, atMs: 1 });
  expect(again.logos.find('b.com')).toBeUndefined();
});

it('nonsense counts as no note', async () => {
  const folder = useTempFolder();
  const { root, logos } = await openTables(folder);
  await logos.put('one:text.com', 'x');
  await logos.put('one:null.com', null);
  await logos.put('one:undated.com', { saved: SAVED });
  await logos.put('one:half.com', { saved: {}, missing: 'x', atMs: 1 });
  const binary = root.openDB<Buffer, string>('logos', { encoding: 'binary' });
  await binary.put('one:broken.com', Buffer.from('{"atMs"'));
  await root.close();
  const store = await openStore(folder, 'one');
  onTestFinished(() => store.close());
  for (const domain of ['text.com', 'null.com', 'undated.com', 'broken.com']) {
    expect(store.logos.find(domain), domain).toBeUndefined();
  }
  expect(store.logos.find('half.com')).toEqual({ saved: undefined, missing: undefined, atMs: 1 });
});
