import { expect, it, onTestFinished } from 'vitest';
import type { CallsPer } from '../../src/guard/shared-budget.ts';
import { type OutcomeStore, openStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const LIMIT: CallsPer = { count: 1_000, unit: 'month' };
const never = new AbortController().signal;

async function useStore(folder: string): Promise<OutcomeStore> {
  const store = await openStore(folder, 'endpoint');
  onTestFinished(() => store.close());
  return store;
}

/** Takes all there is, and says how much it was. */
async function takeAll(store: OutcomeStore, id: string, limit = LIMIT): Promise<number> {
  const ledger = store.openCallLedger(id, limit);
  for (let sum = 0; ; ) {
    const { calls } = await ledger.take(never);
    if (calls === 0) return sum;
    sum += calls;
  }
}

it('calls are counted in the store, for each credential by itself, over runs', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'endpoint');
  const { calls, window, nowMs } = await first.openCallLedger('one', LIMIT).take(never);
  expect(calls).toBe(20);
  expect(window.endsAtMs).toBeGreaterThan(nowMs);
  await first.openCallLedger('one', LIMIT).giveBack(5, window);
  await first.close();
  const second = await useStore(folder);
  expect(await takeAll(second, 'one')).toBe(985);
  expect(await takeAll(second, 'two')).toBe(1_000);
  expect(await takeAll(second, 'one', { count: 1_100, unit: 'month' })).toBe(100);
  expect(await takeAll(second, 'one', { count: 900, unit: 'month' })).toBe(0);
});

it('calls of a window that is over are not given back to the next', async () => {
  const store = await useStore(useTempFolder());
  const ledger = store.openCallLedger('one', LIMIT);
  const { window } = await ledger.take(never);
  await ledger.giveBack(5, { ...window, id: '1999-12' });
  expect(await takeAll(store, 'one')).toBe(980);
});
