import { open } from 'lmdb';
import { expect, it, onTestFinished } from 'vitest';
import { type OutcomeStore, openStore } from '../../src/store/store.ts';
import type { CallsPer } from '../../src/worker/budget.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { useStore } from './outcomes.ts';

const SAVED = {
  state: { limitPerMs: 0.005, cap: 0, statedUntilMs: 123.456 },
  savedAtMs: 1_800_000_000_000,
  learnedAtMs: 1_700_000_000_000,
};

it('a pace is there again after the store was closed, under its own id only', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'endpoint', { isBeside: true });
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
  const first = await openStore(folder, 'endpoint', { isBeside: true });
  void first.savePace('id', SAVED);
  await first.close();
  expect((await useStore(folder)).findPace('id')).toEqual(SAVED);
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

const LIMIT: CallsPer = { count: 1_000, unit: 'month' };
const never = new AbortController().signal;

/** Takes all there is, and says how much it was. */
async function takeAll(store: OutcomeStore, id: string, limit = LIMIT): Promise<number> {
  const ledger = store.openCallLedger({ id, ...limit });
  for (let sum = 0; ; ) {
    const { calls } = await ledger.take(20, never);
    if (calls === 0) return sum;
    sum += calls;
  }
}

it('calls are counted in the store, for each credential by itself, over runs', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'endpoint', { isBeside: true });
  const { calls, window, nowMs } = await first
    .openCallLedger({ id: 'one', ...LIMIT })
    .take(20, never);
  expect(calls).toBe(20);
  expect(window.endsAtMs).toBeGreaterThan(nowMs);
  await first.openCallLedger({ id: 'one', ...LIMIT }).giveBack(5, window);
  await first.close();
  const second = await useStore(folder);
  expect(await takeAll(second, 'one')).toBe(985);
  expect(await takeAll(second, 'two')).toBe(1_000);
  expect(await takeAll(second, 'one', { count: 1_100, unit: 'month' })).toBe(100);
  expect(await takeAll(second, 'one', { count: 900, unit: 'month' })).toBe(0);
});

it('calls of a window that is over are not given back to the next', async () => {
  const store = await useStore(useTempFolder());
  const ledger = store.openCallLedger({ id: 'one', ...LIMIT });
  const { window } = await ledger.take(20, never);
  await ledger.giveBack(5, { ...window, id: '1999-12' });
  expect(await takeAll(store, 'one')).toBe(980);
});

const LOGO = { file: 'a.com.png', sizeBytes: 70, mark: 'x' };

it('notes of logos are kept by API and domain, for every process on the store', async () => {
  const folder = useTempFolder();
  const one = await openStore(folder, 'one', { isBeside: true });
  const other = await openStore(folder, 'other', { isBeside: true });
  expect(one.logos.find('a.com')).toBeUndefined();
  await one.logos.put('a.com', { saved: LOGO, atMs: 1 });
  await other.logos.put('a.com', { missing: { reason: 'http_404', mark: 'y:1' }, atMs: 2 });
  await Promise.all([one.close(), other.close()]);
  const again = await openStore(folder, 'one', { isBeside: true });
  onTestFinished(() => again.close());
  expect(again.logos.find('a.com')).toEqual({ saved: LOGO, missing: undefined, atMs: 1 });
  expect(again.logos.find('b.com')).toBeUndefined();
});
