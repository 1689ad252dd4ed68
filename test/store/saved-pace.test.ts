import { open } from 'lmdb';
import { expect, it, onTestFinished } from 'vitest';
import { createPaceState } from '../../src/pace/pacer.ts';
import { createEmptyStore, type OutcomeStore, openStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { outcomeOf } from './outcomes.ts';

const SAVED = {
  state: createPaceState({ rate: { count: 300, perMs: 60_000 } }, 123.456),
  savedAtMs: 1_800_000_000_000,
  learnedAtMs: 1_700_000_000_000,
};

async function useStore(folder: string, endpointId = 'endpoint'): Promise<OutcomeStore> {
  const store = await openStore(folder, endpointId);
  onTestFinished(() => store.close());
  return store;
}

it('a pace is there again after the store was closed, under its own id only', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'endpoint');
  expect(first.findPace('id')).toBeUndefined();
  await first.savePace('id', { ...SAVED, state: 'earlier' });
  await first.savePace('id', SAVED);
  await first.flush();
  const storeId = first.id;
  await first.close();
  const second = await useStore(folder);
  expect(second.findPace('id')).toEqual(SAVED);
  expect(second.findPace('other')).toBeUndefined();
  expect(second.id).toBe(storeId);
});

it('a pace that is saved and not waited for is there when the store is closed', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'endpoint');
  void first.savePace('id', SAVED);
  await first.close();
  expect((await useStore(folder)).findPace('id')).toEqual(SAVED);
});

it('of two that have the store open, the one who writes last wins', async () => {
  const folder = useTempFolder();
  const [one, two] = [await useStore(folder), await useStore(folder)];
  await one.savePace('id', { ...SAVED, savedAtMs: 1 });
  await two.savePace('id', { ...SAVED, savedAtMs: 2 });
  expect(one.findPace('id')?.savedAtMs).toBe(2);
});

it('a pace is no outcome, and harms none', async () => {
  const store = await useStore(useTempFolder());
  await Promise.all([store.savePace('acme.com', SAVED), store.put(outcomeOf('acme.com'), [])]);
  expect(store.find('acme.com')).toEqual(outcomeOf('acme.com'));
});

it('nonsense in its place is as good as nothing', async () => {
  const folder = useTempFolder();
  const nonsense = ['', '{', '7', 'null', '"x"', '[]', '{}', '{"savedAtMs":"1","learnedAtMs":1}'];
  const root = open({ path: folder, noSubdir: false, maxDbs: 8 });
  const meta = root.openDB<Buffer, string>('meta', { encoding: 'binary' });
  for (const [at, bytes] of nonsense.entries()) await meta.put(`pace:${at}`, Buffer.from(bytes));
  await meta.put('pace:bytes', Buffer.from([0xff, 0xfe, 0x00, 0x80]));
  await root.close();
  const store = await useStore(folder);
  for (const at of nonsense.keys()) expect(store.findPace(String(at))).toBeUndefined();
  expect(store.findPace('bytes')).toBeUndefined();
});

it('an empty store saves none', async () => {
  const store = createEmptyStore();
  await store.savePace('id', SAVED);
  expect(store.findPace('id')).toBeUndefined();
});
