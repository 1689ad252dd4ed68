import { open } from 'lmdb';
import { expect, it } from 'vitest';
import type { CallLedger, CallsPer } from '../../src/calls/budget.ts';
import type { OutcomeStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { makeHomeIn } from './homes.ts';
import { openStore, useStore } from './outcomes.ts';

const SAVED = {
  state: { limitPerMs: 0.005, cap: 0, statedUntilMs: 123.456 },
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

it('nonsense in its place is as good as nothing', async () => {
  const folder = useTempFolder();
  const nonsense = ['', '{', '7', 'null', '"x"', '[]', '{}', '{"learnedAtMs":"1"}'];
  const root = open({ path: makeHomeIn(folder), noSubdir: false, maxDbs: 8 });
  const meta = root.openDB<Buffer, string>('meta', { encoding: 'binary' });
  for (const [at, bytes] of nonsense.entries()) await meta.put(`pace:${at}`, Buffer.from(bytes));
  await meta.put('pace:bytes', Buffer.from([0xff, 0xfe, 0x00, 0x80]));
  await root.close();
  const store = await useStore(folder);
  for (const at of nonsense.keys()) expect(store.findPace(String(at))).toBeUndefined();
  expect(store.findPace('bytes')).toBeUndefined();
});

const MONTH: CallsPer = { count: 1_000, unit: 'month' };
const never = new AbortController().signal;

function openMonth(store: OutcomeStore, id: string, count = 1_000): CallLedger {
  return store.openCallLedger({ id, per: MONTH, count, each: 1 });
}

/** Takes all there is, and says how much it was. */
async function takeAll(ledger: CallLedger): Promise<number> {
  for (let sum = 0; ; ) {
    const { count } = await ledger.take(20, undefined, never);
    if (count === 0) return sum;
    sum += count;
  }
}

it('calls are counted in the store, for each credential by itself, over runs', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'endpoint', { isBeside: true });
  const { count, window, nowMs } = await openMonth(first, 'one').take(20, undefined, never);
  expect(count).toBe(20);
  expect(window.endsAtMs).toBeGreaterThan(nowMs);
  await openMonth(first, 'one').giveBack(5, window);
  await first.close();
  const second = await useStore(folder);
  expect(await takeAll(openMonth(second, 'one'))).toBe(985);
  expect(await takeAll(openMonth(second, 'two'))).toBe(1_000);
  expect(await takeAll(openMonth(second, 'one', 1_100))).toBe(100);
  expect(await takeAll(openMonth(second, 'one', 900))).toBe(0);
});

it('calls of a window that is over are not given back to the next', async () => {
  const ledger = openMonth(await useStore(useTempFolder()), 'one');
  const { window } = await ledger.take(20, undefined, never);
  await ledger.giveBack(5, { ...window, id: '1999-12' });
  expect(await takeAll(ledger)).toBe(980);
});

const NOON = Date.parse('2026-11-21T12:00:40Z');
const [MINUTE, DAY] = [60_000, 86_400_000];

it.each<[string, CallsPer['unit'], readonly number[], number]>([
  ['by 30 s over the end of a minute', 'minute', [NOON + 30_000, NOON], 100],
  ['forth by minutes, and back', 'minute', [NOON, NOON + 5 * MINUTE, NOON], 200],
  ['forth by three days, and back', 'day', [NOON, NOON + 3 * DAY, NOON, NOON + 1], 200],
  ['back by a day', 'day', [NOON + DAY, NOON, NOON + DAY], 100],
  ['on, as it should', 'day', [NOON, NOON + DAY, NOON + 2 * DAY], 300],
])('a clock that goes %s: no more calls in a %s', async (_, unit, timesMs, made) => {
  const store = await useStore(useTempFolder());
  let [nowMs, sum] = [0, 0];
  const bound = { id: 'one', per: { count: 100, unit }, count: 100, each: 1 };
  for (nowMs of timesMs) sum += await takeAll(store.openCallLedger(bound, () => nowMs));
  expect(sum).toBe(made);
});

it('a run has what it left for a week, and what a domain has cost', async () => {
  const store = await useStore(useTempFolder());
  let nowMs = NOON;
  const open = () => store.openCallLedger({ id: 'run', count: 100, each: undefined }, () => nowMs);
  const first = await open().take(1, undefined, never);
  expect(first).toMatchObject({ count: 100, each: undefined }); // nobody knows what one costs
  await open().giveBack(95, first.window, 5);
  nowMs += 6 * DAY;
  expect(await open().take(2, undefined, never)).toMatchObject({ count: 10, each: 5 });
  nowMs += 8 * DAY;
  expect(await open().take(1, undefined, never)).toMatchObject({ count: 100, each: undefined });
  await store.forgetCalls(['run', 'other']);
  expect((await open().read()).taken).toBe(0);
});
