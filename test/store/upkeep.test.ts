import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Outcome } from '../../src/brand/outcome.ts';
import { openExportOutput } from '../../src/commands/store.ts';
import { importStore } from '../../src/commands/store-import.ts';
import { countStore } from '../../src/store/count-store.ts';
import { putNewer, readEntries } from '../../src/store/entries.ts';
import { deleteDomains, pruneTables } from '../../src/store/removal.ts';
import { type OutcomeStore, openStore } from '../../src/store/store.ts';
import { openTables, type StoreTables } from '../../src/store/tables.ts';
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
  const two = await openStore(folder, 'two');
  const tables = await openTables(folder);
  onTestFinished(async () => {
    await Promise.all([one.close(), two.close(), tables.root.close()]);
  });
  const ago = (days: number): number => NOW_MS - days * DAY_MS;
  await Promise.all([
    one.put(outcomeOf('new.com', { fetchedAtMs: ago(0.5) }), [['name']]),
    one.put(outcomeOf('old.com', { fetchedAtMs: ago(200) }), [['name']]),
    one.put(outcomeOf('old.com', { ...failed, fetchedAtMs: ago(3) }), []),
    one.put(outcomeOf('mended.com', { ...failed, fetchedAtMs: ago(20) }), []),
    one.put(outcomeOf('mended.com', { fetchedAtMs: ago(10) }), [['name']]),
    one.put(outcomeOf('lost.com', { ...failed, fetchedAtMs: ago(1_000) }), []),
    two.put(outcomeOf('new.com', { status: 'not_found', json: '', fetchedAtMs: ago(40) }), []),
    one.leftOvers.add(['later.com'], ago(250)),
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
    await Promise.all(names.map((name) => one.put(outcomeOf(name), [])));
    const seen: string[] = [];
    for (const batch of readEntries(tables, { endpointId: 'one', status: 'found' })) {
      for (const { read } of batch) seen.push(read()?.domain ?? '');
      await one.put(outcomeOf(`a${seen.length}.com`), []);
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(names.every((name) => seen.includes(name))).toBe(true);
  });

  it('are counted by what the latest of each domain came to', async () => {
    const { folder, tables } = await open();
    const stats = countStore(tables, { folder, endpointId: undefined, nowMs: NOW_MS });
    expect(stats).toMatchObject({
      folder,
      version: 1,
      statuses: { found: 2, not_found: 1, rejected: 0, failed: 2 },
      apis: [
        { api: 'one', name: 'https://one.example', statuses: { found: 2, failed: 2 } },
        { api: 'two', name: undefined, statuses: { not_found: 1 } },
      ],
      oldestAtMs: NOW_MS - 1_000 * DAY_MS,
      newestAtMs: NOW_MS - 0.5 * DAY_MS,
      leftOver: 1,
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
    expect(ofTwo).toMatchObject({ statuses: { found: 0, not_found: 1 }, leftOver: 0, logos: 0 });
  });
});

describe('pruning', () => {
  const age = { olderThanMs: 180 * DAY_MS, nowMs: NOW_MS };

  it('removes what is older, of one API or of all, and nothing else', async () => {
    const { one, two, tables } = await open();
    const all = { ...age, endpointId: undefined, dryRun: false };
    const expected = { answers: 1, failures: 1, leftOver: 1, logos: 1 };
    expect(await pruneTables(tables, { ...all, dryRun: true })).toEqual(expected);
    expect(namesIn(tables)).toHaveLength(6);
    expect(await pruneTables(tables, { ...all, endpointId: 'two' })).toEqual({
      answers: 0,
      failures: 0,
      leftOver: 0,
      logos: 0,
    });
    expect(await pruneTables(tables, all)).toEqual(expected);
    expect(one.logos.find('old.com')).toBeUndefined();
    expect(one.logos.find('new.com')?.saved).toEqual(LOGO);
    expect(await pruneTables(tables, all)).toEqual({
      answers: 0,
      failures: 0,
      leftOver: 0,
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
      one.put(outcomeOf('soon.com', { fetchedAtMs: ahead(1) }), []),
      one.put(outcomeOf('far.com', { fetchedAtMs: ahead(2_000) }), []),
      one.put(outcomeOf('off.com', { ...failed, fetchedAtMs: ahead(2_000) }), []),
      one.leftOvers.add(['later-still.com'], ahead(2_000)),
    ]);
    const all = { ...age, endpointId: undefined, dryRun: false };
    expect(await pruneTables(tables, all)).toMatchObject({ answers: 2, failures: 2, leftOver: 2 });
    expect([one.find('soon.com')?.status, one.find('far.com'), one.find('off.com')]).toEqual([
      'found',
      undefined,
      undefined,
    ]);
  });

  it('lets its room be used again', async () => {
    const { folder, one, tables } = await open();
    const size = (): number =>
      countStore(tables, { folder, endpointId: undefined, nowMs: NOW_MS }).sizeBytes;
    const fill = async (round: number): Promise<void> => {
      const json = JSON.stringify({ text: 'x'.repeat(2_000) });
      const names = Array.from({ length: 200 }, (_, at) => `r${round}d${at}.com`);
      await Promise.all(names.map((name) => one.put(outcomeOf(name, { json }), [])));
      await one.flush();
    };
    await fill(0);
    const once = size();
    for (let round = 1; round < 6; round += 1) {
      await pruneTables(tables, { ...age, endpointId: 'one', dryRun: false });
      await fill(round);
    }
    expect(size()).toBeLessThan(3 * once);
  });
});

describe('deleting', () => {
  const both = { endpointId: undefined, dryRun: false };

  it('removes all that there is of domains, at one API or at all, and nothing else', async () => {
    const { one, two, tables } = await open();
    await two.logos.put('old.com', { saved: LOGO, atMs: NOW_MS });
    const domains = ['old.com', 'later.com', 'never.com'];
    const expected = { answers: 1, failures: 1, leftOver: 1, logos: 2, unknown: ['never.com'] };
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
      leftOver: 0,
      logos: 0,
      unknown: ['mended.com'],
    });
    expect([one.find('new.com')?.status, two.find('new.com')]).toEqual(['found', undefined]);
  });
});

describe('outcomes from elsewhere', () => {
  it('are put in where the store has none that is as new', async () => {
    const { folder, one, tables } = await open();
    const put = (domain: string, days: number, outcome = {}): Promise<number> =>
      putNewer(tables, [
        {
          endpointId: 'one',
          outcome: outcomeOf(domain, {
            fetchedAtMs: NOW_MS - days * DAY_MS,
            json: '{"from":"elsewhere"}',
            ...outcome,
          }),
          shape: [['from']],
        },
      ]);
    expect(await put('other.com', 5)).toBe(1);
    expect(await put('other.com', 5)).toBe(0);
    expect(await put('new.com', 0.5)).toBe(0);
    expect(await put('new.com', 0.6)).toBe(0);
    expect((await look(folder, 'new.com'))?.json).toBe('{"name":"Acme"}');
    expect(await put('new.com', 0.4)).toBe(1);
    const shapeIds = [...readEntries(tables, { endpointId: 'one' })]
      .flat()
      .filter(({ read }) => read()?.domain === 'new.com')
      .map(({ head }) => head.shapeId);
    expect(shapeIds.map((id) => one.findShape(id))).toEqual([[['from']]]);
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
  const store = await openStore(folder, 'one');
  const outcome = store.find(domain);
  await store.close();
  return outcome;
}

describe('names of columns', () => {
  const all = { endpointId: undefined, dryRun: false };
  const textsIn = ({ shapeTexts }: StoreTables): string[] =>
    [...shapeTexts.getRange()].map(({ value }) => value);

  async function openWithOddNames(): Promise<Opened> {
    const opened = await open();
    const { one, two } = opened;
    await one.put(outcomeOf('odd.com', { fetchedAtMs: NOW_MS }), [['name'], ['of odd.com']]);
    await two.put(outcomeOf('new.com', { fetchedAtMs: NOW_MS }), [['name'], ['of both']]);
    await one.put(outcomeOf('both.com', { fetchedAtMs: NOW_MS }), [['name'], ['of both']]);
    const columns = ['name', 'of odd.com', 'of both'].map((name) => ({ name, path: [name] }));
    await one.saveColumns(['out'], [...columns, { name: 'logo' }]);
    return opened;
  }

  it('go with the last answer that has them when it is deleted', async () => {
    const { one, two, tables } = await openWithOddNames();
    await deleteDomains(tables, { ...all, domains: ['odd.com'], dryRun: true });
    expect(textsIn(tables)).toHaveLength(3);
    await deleteDomains(tables, { ...all, domains: ['odd.com', 'both.com'] });
    expect(textsIn(tables).toSorted()).toEqual(['[["name"],["of both"]]', '[["name"]]']);
    expect(one.findColumns('out')?.map(({ name }) => name)).toEqual(['name', 'of both', 'logo']);
    await deleteDomains(tables, { ...all, domains: ['new.com'] });
    expect(textsIn(tables)).toEqual(['[["name"]]']);
    expect(one.findColumns('out')?.map(({ name }) => name)).toEqual(['name', 'logo']);
    // A run that has stored such an answer before stores its columns again with the next one.
    await two.put(outcomeOf('next.com'), [['name'], ['of both']]);
    expect(textsIn(tables)).toHaveLength(2);
  });

  it('that no answer has are removed by pruning, those in use stay', async () => {
    const { one, tables } = await openWithOddNames();
    await one.put(outcomeOf('odd.com', { fetchedAtMs: NOW_MS }), [['name']]);
    await tables.shapeTexts.put(17, JSON.stringify([['of nobody']]));
    await pruneTables(tables, { ...all, olderThanMs: 180 * DAY_MS, nowMs: NOW_MS });
    expect(textsIn(tables).toSorted()).toEqual(['[["name"],["of both"]]', '[["name"]]']);
    await pruneTables(tables, { ...all, olderThanMs: -1, nowMs: NOW_MS });
    expect(textsIn(tables)).toEqual([]);
  });

  it('that are too many make room when the store is opened again', async () => {
    const { folder, one, tables } = await open();
    const wide = JSON.stringify(Array.from({ length: 100_000 }, (_, at) => [`a long name ${at}`]));
    for (let id = 10; id < 50; id += 1) await tables.shapeTexts.put(id, wide);
    await one.put(outcomeOf('full.com'), [['new']]);
    expect(one.findShape(one.findHead('full.com')?.shapeId ?? 0)).toBeUndefined();
    const again = await openStore(folder, 'one');
    onTestFinished(() => again.close());
    await again.put(outcomeOf('full.com'), [['new']]);
    expect(again.findShape(again.findHead('full.com')?.shapeId ?? 0)).toEqual([['new']]);
    expect(textsIn(tables).toSorted()).toEqual(['[["name"]]', '[["new"]]']);
  });
});

it('closes its file when the store cannot be opened', async () => {
  const folder = useTempFolder();
  const [input, store] = [join(folder, 'in.jsonl'), join(folder, 'store')];
  const line =
    '{"api":"a","domain":"acme.com","status":"not_found","fetched_at":"2026-11-21T00:00:00Z"}\n';
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

it('a file that is one line of many megabytes is refused in time', async () => {
  const folder = useTempFolder();
  const input = join(folder, 'wrong.jsonl.gz');
  writeFileSync(input, gzipSync(Buffer.alloc(24_000_000, 'x')));
  await expect(importStore({ input, store: join(folder, 'store') })).rejects.toThrow(
    'none of its lines is an outcome (the first: it is no JSON object)',
  );
});
