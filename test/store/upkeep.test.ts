import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Outcome } from '../../src/brand/outcome.ts';
import { openExportOutput } from '../../src/commands/store-export.ts';
import { importStore } from '../../src/commands/store-import.ts';
import { type OutcomeStore, openStore } from '../../src/store/store.ts';
import { openTables, type StoreTables } from '../../src/store/tables.ts';
import {
  countStore,
  deleteDomains,
  pruneTables,
  putNewer,
  readEntries,
} from '../../src/store/upkeep.ts';
import { openFilesIn } from '../support/descriptors.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { outcomeOf } from './outcomes.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 21);
const failed = { status: 'failed', json: '', reason: 'timeout' } as const;

interface Opened {
  readonly folder: string;
  readonly one: OutcomeStore;
  readonly two: OutcomeStore;
  readonly tables: StoreTables;
}

const LOGO = { file: 'a.png', sizeBytes: 70, mark: 'a' };

/** A store with the outcomes of two APIs. */
async function open(): Promise<Opened> {
  const folder = useTempFolder();
  const one = await openStore(folder, 'one', { apiName: 'https://one.example' });
  const two = await openStore(folder, 'two', { isBeside: true });
  const tables = await openTables(folder, { isBeside: true });
  onTestFinished(async () => {
    await Promise.all([one.close(), two.close(), tables.root.close()]);
  });
  const ago = (days: number): number => NOW_MS - days * DAY_MS;
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
  return { folder, one, two, tables };
}

function namesIn(tables: StoreTables, filter?: Parameters<typeof readEntries>[1]): string[] {
  return [...readEntries(tables, filter)]
    .flat()
    .map(({ endpointId, read }) => `${endpointId} ${read()?.domain} ${read()?.status}`);
}

describe('the outcomes of a store', () => {
  it('are gone through by API, with failures that are newer than the answer', async () => {
    const { tables } = await open();
    expect(namesIn(tables)).toEqual([
      'one mended.com found',
      'one new.com found',
      'one old.com found',
      'two new.com not_found',
      'one lost.com failed',
      'one old.com failed',
    ]);
    expect(namesIn(tables, { endpointId: 'two' })).toEqual(['two new.com not_found']);
    expect(namesIn(tables, { status: 'failed' })).toEqual([
      'one lost.com failed',
      'one old.com failed',
    ]);
    expect(namesIn(tables, { status: 'not_found' })).toEqual(['two new.com not_found']);
  });

  it('are all met, however many there are, and those that come meanwhile do no harm', async () => {
    const { one, tables } = await open();
    const names = Array.from({ length: 1_800 }, (_, at) => `d${at}.com`);
    await Promise.all(names.map((name) => one.put(outcomeOf(name))));
    const seen: string[] = [];
    for (const batch of readEntries(tables, { endpointId: 'one', status: 'found' })) {
      for (const { read } of batch) seen.push(read()?.domain ?? '');
      await one.put(outcomeOf(`a${seen.length}.com`));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(names.every((name) => seen.includes(name))).toBe(true);
  });

  it('are counted by what the latest of each domain came to', async () => {
    const { folder, tables } = await open();
    const stats = countStore(tables, { folder, endpointId: undefined, nowMs: NOW_MS });
    expect(stats).toMatchObject({
      folder,
      version: 2,
      statuses: { found: 2, not_found: 1, rejected: 0, failed: 2 },
      apis: [
        { api: 'one', name: 'https://one.example', statuses: { found: 2, failed: 2 } },
        { api: 'two', name: undefined, statuses: { not_found: 1 } },
      ],
      oldestAtMs: NOW_MS - 1_000 * DAY_MS,
      newestAtMs: NOW_MS - 0.5 * DAY_MS,
      logos: 2,
    });
    expect(stats.sizeBytes).toBeGreaterThan(4_096);
    expect(stats.ages.map(({ underDays, outcomes }) => [underDays, outcomes])).toEqual([
      [1, 1],
      [7, 1],
      [30, 1],
      [90, 1],
      [180, 0],
      [365, 0],
      [undefined, 1],
    ]);
    const ofTwo = countStore(tables, { folder, endpointId: 'two', nowMs: NOW_MS });
    expect(ofTwo).toMatchObject({ statuses: { found: 0, not_found: 1 }, logos: 0 });
  });
});

describe('pruning', () => {
  const age = { olderThanMs: 180 * DAY_MS, nowMs: NOW_MS };

  it('removes what is older, of one API or of all, and nothing else', async () => {
    const { one, two, tables } = await open();
    const all = { ...age, endpointId: undefined, dryRun: false };
    const expected = { answers: 1, failures: 1, logos: 1 };
    expect(await pruneTables(tables, { ...all, dryRun: true })).toEqual(expected);
    expect(namesIn(tables)).toHaveLength(6);
    expect(await pruneTables(tables, { ...all, endpointId: 'two' })).toEqual({
      answers: 0,
      failures: 0,
      logos: 0,
    });
    expect(await pruneTables(tables, all)).toEqual(expected);
    expect(one.logos.find('old.com')).toBeUndefined();
    expect(one.logos.find('new.com')?.saved).toEqual(LOGO);
    expect(await pruneTables(tables, all)).toEqual({
      answers: 0,
      failures: 0,
      logos: 0,
    });
    expect(one.find('old.com')?.status).toBe('failed');
    expect(one.find('lost.com')).toBeUndefined();
    expect([one.find('new.com')?.status, two.find('new.com')?.status]).toEqual([
      'found',
      'not_found',
    ]);
  });

  it('removes what is dated further in the future', async () => {
    const { one, tables } = await open();
    const ahead = (days: number): number => NOW_MS + days * DAY_MS;
    await Promise.all([
      one.put(outcomeOf('soon.com', { fetchedAtMs: ahead(1) })),
      one.put(outcomeOf('far.com', { fetchedAtMs: ahead(2_000) })),
      one.put(outcomeOf('off.com', { ...failed, fetchedAtMs: ahead(2_000) })),
    ]);
    const all = { ...age, endpointId: undefined, dryRun: false };
    expect(await pruneTables(tables, all)).toMatchObject({ answers: 2, failures: 2 });
    expect([one.find('soon.com')?.status, one.find('far.com'), one.find('off.com')]).toEqual([
      'found',
      undefined,
      undefined,
    ]);
  });
});

describe('deleting', () => {
  const both = { endpointId: undefined, dryRun: false };

  it('removes all that there is of domains, at one API or at all, and nothing else', async () => {
    const { one, two, tables } = await open();
    await two.logos.put('old.com', { saved: LOGO, atMs: NOW_MS });
    const domains = ['old.com', 'never.com'];
    const expected = { answers: 1, failures: 1, logos: 2, unknown: ['never.com'] };
    expect(await deleteDomains(tables, { ...both, domains, dryRun: true })).toEqual(expected);
    expect(one.find('old.com')?.status).toBe('failed');
    expect(await deleteDomains(tables, { ...both, domains })).toEqual(expected);
    expect([one.find('old.com'), one.logos.find('old.com')]).toEqual([undefined, undefined]);
    expect(namesIn(tables)).toEqual([
      'one mended.com found',
      'one new.com found',
      'two new.com not_found',
      'one lost.com failed',
    ]);
    const atTwo = { ...both, domains: ['new.com', 'mended.com', 'new.com'], endpointId: 'two' };
    expect(await deleteDomains(tables, atTwo)).toEqual({
      answers: 1,
      failures: 0,
      logos: 0,
      unknown: ['mended.com'],
    });
    expect([one.find('new.com')?.status, two.find('new.com')]).toEqual(['found', undefined]);
  });
});

describe('outcomes from elsewhere', () => {
  it('are put in where the store has none that is as new', async () => {
    const { folder, tables } = await open();
    const put = (domain: string, days: number, outcome = {}): Promise<number> =>
      putNewer(tables, [
        {
          endpointId: 'one',
          outcome: outcomeOf(domain, {
            fetchedAtMs: NOW_MS - days * DAY_MS,
            json: '{"from":"elsewhere"}',
            ...outcome,
          }),
        },
      ]);
    expect(await put('other.com', 5)).toBe(1);
    expect(await put('other.com', 5)).toBe(0);
    expect(await put('new.com', 0.5)).toBe(0);
    expect(await put('new.com', 0.6)).toBe(0);
    expect((await look(folder, 'new.com'))?.json).toBe('{"name":"Acme"}');
    expect(await put('new.com', 0.4)).toBe(1);
    expect(await put('new.com', 0.45, failed)).toBe(0);
    expect(await put('new.com', 0.3, failed)).toBe(1);
    expect((await look(folder, 'new.com'))?.status).toBe('failed');
    // An older answer lies beneath the failure that is there.
    expect(await put('lost.com', 2_000)).toBe(1);
    expect((await look(folder, 'lost.com'))?.status).toBe('failed');
  });
});

/** The outcome that is there now; a store that is open looks no more than once in a turn. */
async function look(folder: string, domain: string): Promise<Outcome | undefined> {
  const store = await openStore(folder, 'one', { isBeside: true });
  const outcome = store.find(domain);
  await store.close();
  return outcome;
}

it('closes its file when the store cannot be opened', async () => {
  const folder = useTempFolder();
  const [input, store] = [join(folder, 'in.jsonl'), join(folder, 'store')];
  const line =
    '{"api":"a","domain":"acme.com","status":"not_found","attempts":1,"fetched_at":"2026-11-21T00:00:00Z"}\n';
  writeFileSync(input, line.repeat(2_000));
  writeFileSync(store, 'a file');
  await expect(importStore({ input, store })).rejects.toThrow(/^Cannot open the store/);
  await expect.poll(() => openFilesIn(folder)).toEqual([]); // Node.js closes it in the background
});

it('waits for whoever reads standard output, and listens for nothing any more when that is over', async () => {
  const stdout = new PassThrough({ highWaterMark: 1 });
  const before = ['drain', 'close', 'error'].map((event) => stdout.listenerCount(event));
  const spy = vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as never);
  onTestFinished(() => spy.mockRestore());
  const output = await openExportOutput('-');
  for (const line of ['one\n', 'two\n']) {
    const written = output.write(line);
    expect(String(stdout.read())).toBe(line);
    await written;
  }
  expect(['drain', 'close', 'error'].map((event) => stdout.listenerCount(event))).toEqual(before);
});
