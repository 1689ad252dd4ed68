import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase, type StoreDatabase } from '../../src/store/database.ts';
import type { OutcomeStore } from '../../src/store/store.ts';
import {
  countStore,
  findLines,
  pruneStore,
  putNewer,
  readEntries,
} from '../../src/store/upkeep.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { openStore, outcomeOf } from './outcomes.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 21);
const failed = { status: 'failed', json: '', reason: 'timeout' } as const;
const LOGO = { file: 'a.png', sizeBytes: 70, mark: 'a' };
const ago = (days: number): number => NOW_MS - days * DAY_MS;

let one: OutcomeStore;
let two: OutcomeStore;
let database: StoreDatabase;

/** A store with the outcomes of two APIs. */
beforeEach(async () => {
  const folder = useTempFolder();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(NOW_MS);
  database = await openDatabase(folder);
  one = await openStore(folder, 'one', { isBeside: true, apiName: 'https://one.example' });
  two = await openStore(folder, 'two', { isBeside: true });
  onTestFinished(async () => {
    clock.mockRestore();
    for (const each of [one, two, database]) await each.close();
  });
  await Promise.all([
    one.put(outcomeOf('new.com', { fetchedAtMs: ago(0.5) })),
    one.put(outcomeOf('old.com', { fetchedAtMs: ago(200) })),
    one.put(outcomeOf('old.com', { ...failed, fetchedAtMs: ago(3) })),
    one.put(outcomeOf('mended.com', { ...failed, fetchedAtMs: ago(20) })),
    one.put(outcomeOf('mended.com', { fetchedAtMs: ago(10) })),
    one.put(outcomeOf('lost.com', { ...failed, fetchedAtMs: ago(1_000) })),
    two.put(outcomeOf('new.com', { status: 'not_found', json: '', fetchedAtMs: ago(40) })),
    one.logos.put('old.com', { saved: LOGO, atMs: ago(1) }),
    one.logos.put('new.com', { saved: LOGO, atMs: ago(300) }),
    one.logos.put('mended.com', { missing: { reason: 'http_404', mark: 'a:1' }, atMs: ago(1) }),
  ]);
});

const ALL = ['one mended.com', 'one new.com', 'one old.com', 'two new.com'];

/** The outcomes: answers of all APIs, then failures. */
function namesIn(): string[] {
  return [...readEntries(database)].map(
    ({ key, head }) => `${key.replace(':', ' ')}${head.status === 'failed' ? ' failed' : ''}`,
  );
}

describe('the outcomes of a store', () => {
  it('are gone through by API, with failures that are newer than the answer', () => {
    expect(namesIn()).toEqual([...ALL, 'one lost.com failed', 'one old.com failed']);
  });

  it('are counted by what the latest of each domain came to', () => {
    const none = { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
    const stats = countStore(database);
    expect(stats).toMatchObject({ folder: database.folder, version: 2 });
    expect(stats.sizeBytes).toBeGreaterThan(4_096);
    const name = 'https://one.example';
    expect(stats.apis).toEqual([
      { api: 'one', name, statuses: { ...none, found: 2, failed: 2 } },
      { api: 'two', name: undefined, statuses: { ...none, not_found: 1 } },
    ]);
  });
});

it('pruning removes what is older, or as far in the future, and nothing else', async () => {
  await one.put(outcomeOf('soon.com', { fetchedAtMs: ago(-1) }));
  await one.put(outcomeOf('far.com', { fetchedAtMs: ago(-2_000) }));
  const [age, expected] = [180 * DAY_MS, { answers: 2, failures: 1, logos: 1, reports: 0 }];
  const nothing = { answers: 0, failures: 0, logos: 0, reports: 0 };
  expect(namesIn()).toHaveLength(8);
  expect(await pruneStore(database, age)).toEqual(expected);
  expect(await pruneStore(database, age)).toEqual(nothing);
  const left = ['one mended.com', 'one new.com', 'one soon.com', 'two new.com'];
  expect(namesIn()).toEqual([...left, 'one old.com failed']);
  expect(one.logos.find('old.com')).toBeUndefined();
  expect(one.logos.find('new.com')?.saved).toEqual(LOGO);
  expect(two.logos.find('new.com')).toBeUndefined();
});

it.each<[string, days: number, outcome: object, put: 0 | 1, latest: string]>([
  ['other.com', 5, {}, 1, 'elsewhere'],
  ['new.com', 0.5, {}, 0, 'Acme'],
  ['new.com', 0.4, {}, 1, 'elsewhere'],
  ['new.com', 0.6, failed, 0, 'Acme'],
  ['new.com', 0.3, failed, 1, 'failed'],
  ['lost.com', 2_000, {}, 1, 'failed'],
])('%s of %d days before, %j, is put in where the store has none as new: %d', async (...row) => {
  const [domain, days, more, put, latest] = row;
  const json = '{"from":"elsewhere"}';
  const outcome = outcomeOf(domain, { fetchedAtMs: ago(days), json, ...more });
  expect(await putNewer(database, [{ endpointId: 'one', outcome }])).toBe(put);
  expect(findLines(database, domain)[0]).toContain(latest);
});
