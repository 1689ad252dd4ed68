import { describe, expect, it, onTestFinished } from 'vitest';
import { putNewer } from '../../src/store/entries.ts';
import type { ReadyTable } from '../../src/store/ready-cells.ts';
import { deleteDomains, pruneTables } from '../../src/store/removal.ts';
import { type OutcomeStore, openStore } from '../../src/store/store.ts';
import { openTables } from '../../src/store/tables.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { outcomeOf } from './outcomes.ts';

const LAYOUT = 2 ** 47 + 5;
const MADE = { domain: 'a.com', fetchedAtMs: 1_000, shapeId: 7, layout: LAYOUT, note: 2 ** 31 + 1 };
const failure = outcomeOf('a.com', { status: 'failed', json: '', fetchedAtMs: 2_000 });

async function open(folder: string): Promise<OutcomeStore> {
  const store = await openStore(folder, 'api');
  onTestFinished(() => store.close());
  return store;
}

function cellsIn(ready: ReadyTable, domain = 'a.com', layout = LAYOUT): string | undefined {
  const found = ready.find(domain, layout);
  return found?.bytes.toString('utf8', found.start, found.end);
}

/** A store with an answer about `a.com`, and its cells. */
async function openWithCells(): Promise<{ folder: string; store: OutcomeStore }> {
  const folder = useTempFolder();
  const store = await open(folder);
  await store.put(outcomeOf('a.com'), [['name']]);
  await store.ready.keep([{ ...MADE, cells: ',Ä' }]);
  expect(cellsIn(store.ready)).toBe(',Ä');
  return { folder, store };
}

describe('cells that are ready', () => {
  it('are found with what is to be known of their answer, in another process too', async () => {
    const { folder, store } = await openWithCells();
    const { status, fetchedAtMs, shapeId, note } = store.ready.find('a.com', LAYOUT) ?? {};
    expect({ status, fetchedAtMs, shapeId, note }).toEqual({
      status: 'found',
      fetchedAtMs: 1_000,
      shapeId: 7,
      note: MADE.note,
    });
    expect(cellsIn((await open(folder)).ready)).toBe(',Ä');
    expect(cellsIn(store.ready, 'b.com')).toBeUndefined();
    expect(cellsIn(store.ready, 'a.com', LAYOUT + 1)).toBeUndefined();
  });

  it.each([
    ['a new answer', outcomeOf('a.com', { fetchedAtMs: 2_000 })],
    ['a failure', failure],
  ])('go with %s', async (_, outcome) => {
    const { store } = await openWithCells();
    await store.put(outcome, []);
    expect(cellsIn(store.ready)).toBeUndefined();
  });

  it('are not kept when there is another outcome by now, or none', async () => {
    const store = await open(useTempFolder());
    await store.ready.keep([{ ...MADE, cells: ',no answer' }]);
    await store.put(outcomeOf('a.com', { fetchedAtMs: 2_000 }), []);
    await store.ready.keep([{ ...MADE, cells: ',older answer' }]);
    await store.put(outcomeOf('b.com', { fetchedAtMs: 1_000 }), []);
    await store.put({ ...failure, domain: 'b.com' }, []);
    await store.ready.keep([{ ...MADE, domain: 'b.com', cells: ',failed since' }]);
    expect(cellsIn(store.ready)).toBeUndefined();
    expect(cellsIn(store.ready, 'b.com')).toBeUndefined();
  });

  it('go with an answer that is imported, deleted or pruned', async () => {
    for (const change of ['import', 'delete', 'prune'] as const) {
      const { folder, store } = await openWithCells();
      const tables = await openTables(folder);
      const outcome = outcomeOf('a.com', { fetchedAtMs: 3_000 });
      if (change === 'import') {
        await putNewer(tables, [{ endpointId: 'api', outcome, shape: [] }]);
      } else if (change === 'delete') {
        await deleteDomains(tables, { domains: ['a.com'], endpointId: 'api', dryRun: false });
      } else {
        const old = { olderThanMs: 500, nowMs: 2_000, endpointId: 'api', dryRun: false };
        await pruneTables(tables, old);
      }
      await tables.close();
      await store.flush();
      expect(cellsIn((await open(folder)).ready), change).toBeUndefined();
    }
  });
});
