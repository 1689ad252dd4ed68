import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ComparedColumn,
  createRecordTable,
} from '../../../src/collector/changes/change-finder.ts';
import {
  comparedColumnsOf,
  openChanges,
  prepareManifest,
} from '../../../src/collector/changes/changes.ts';
import {
  AT,
  flatExpression,
  openManifest,
  openManifestWriter,
  RECORD_HEAD_WORDS,
} from '../../../src/collector/changes/manifest.ts';
import type { JoinedRow } from '../../../src/collector/joined-row.ts';
import type { OutputColumn } from '../../../src/collector/output/output-columns.ts';
import type { RowFormat } from '../../../src/rows/row-format.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

const DOMAIN = columnAt('domain', ({ domain }) => domain);
const NAME = columnAt('name', ({ values }) => textOf(values[0]));
const CITY = columnAt('city', ({ values }) => textOf(values[1]));

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function columnAt(
  name: string,
  read: ComparedColumn['textOf'],
  more: Partial<ComparedColumn> = {},
): ComparedColumn {
  return { name, expression: name, textOf: read, dependsOnRow: false, ...more };
}

function rowOf(row: Partial<JoinedRow> = {}): JoinedRow {
  return {
    raw: '',
    fields: 1,
    number: 1,
    domain: 'a.com',
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: 1,
    key: '',
    values: ['Acme', 'Ulm'],
    blanks: 0,
    fills: undefined,
    ...row,
  };
}

/** The columns of the last report, and those of them that have no value. */
function columnsIn(path: string): readonly [readonly string[], readonly string[]] {
  const manifest = openManifest(path);
  if (manifest === undefined || manifest === 'damaged') throw new Error('it cannot be read');
  void manifest.close();
  return [manifest.columns.map(({ name }) => name), [...manifest.unused]];
}

interface Night {
  readonly columns?: readonly ComparedColumn[];
  readonly reportsLost?: boolean;
  /** Whether the changes file got into its place. */
  readonly isDone?: boolean;
}

function openNights() {
  const manifest = prepareManifest({ folder: join(useTempFolder(), 'changes'), id: 'list.csv' });
  const notices: string[] = [];
  /** What a run reports of its rows: `new`, the columns that changed, or nothing. */
  const night = async (
    rows: readonly Partial<JoinedRow>[],
    { columns = [DOMAIN, NAME, CITY], reportsLost = true, isDone = true }: Night = {},
  ): Promise<readonly string[]> => {
    const changes = await openChanges({
      manifest,
      columns,
      reportsLost,
      onNotice: (message) => notices.push(message),
    });
    const found = rows.map((row) => changes.find(rowOf(row)));
    await changes.flush();
    await changes.finish();
    if (isDone) await changes.commit();
    await changes.close();
    const said = found.map((change) => (change?.kind === 'new' ? 'new' : (change?.columns ?? '')));
    expect(changes.counts).toEqual({
      new: said.filter((each) => each === 'new').length,
      changed: said.filter((each) => each !== 'new' && each !== '').length,
    });
    return said;
  };
  return { manifest, notices, night };
}

describe('what is reported of rows, night after night,', () => {
  it('is each of them once, then the columns that changed, then nothing', async () => {
    const { night, notices } = openNights();
    const two = { domain: 'b.com', values: ['Bolt', ''] };
    expect(await night([{}, two])).toEqual(['new', 'new']);
    expect(await night([two, {}])).toEqual(['', '']);
    const later = { fetchedAtMs: 2 };
    expect(await night([later, { ...two, ...later }])).toEqual(['', '']);
    expect(
      await night([
        { fetchedAtMs: 3, values: ['Acme AG', 'Bern'] },
        { ...two, ...later },
      ]),
    ).toEqual(['name;city', '']);
    expect(await night([{ fetchedAtMs: 4, values: ['Acme AG', ''] }])).toEqual(['city']);
    expect(notices).toEqual([]);
  });

  it('goes by the time at which an answer was fetched, to the millisecond, and longer than 32 bits', async () => {
    const { night } = openNights();
    const other = { values: ['Other', 'Ulm'] };
    await night([{ fetchedAtMs: 5 }]);
    expect(await night([{ ...other, fetchedAtMs: 5 }])).toEqual(['']);
    expect(await night([{ ...other, fetchedAtMs: 5 + 2 ** 32 }])).toEqual(['name']);
    expect(await night([{ fetchedAtMs: 5 + 2 ** 32 }])).toEqual(['']);
  });

  it.each(['failed', 'stale', 'skipped', 'pending'] as const)(
    'is nothing of a row that is %s, whose next answer is compared with the last one',
    async (status) => {
      const { night } = openNights();
      await night([{ fetchedAtMs: 1 + 2 ** 32 }]);
      const away = { status, values: [undefined, undefined], fetchedAtMs: 2 };
      expect(await night([away, { ...away, domain: 'b.com' }])).toEqual(['', '']);
      const same = { fetchedAtMs: 1 + 2 ** 32, values: ['not fetched'] };
      expect(await night([same])).toEqual(['']);
      expect(await night([{ fetchedAtMs: 3 }, { domain: 'b.com', fetchedAtMs: 3 }])).toEqual([
        '',
        'new',
      ]);
    },
  );

  it('is that a row lost its domain, if it was reported before and has a key', async () => {
    const { night } = openNights();
    const invalid = { status: 'invalid', domain: '', values: [], fetchedAtMs: 0 } as const;
    await night([{ key: 'k1' }]);
    expect(await night([{ ...invalid, key: 'k1' }, { ...invalid, key: 'k2' }, invalid])).toEqual([
      'domain;name;city',
      '',
      '',
    ]);
    expect(await night([{ key: 'k1' }])).toEqual(['domain;name;city']);
  });

  it('is told apart by the key, where there is one, and else by the domain', async () => {
    const { night } = openNights();
    expect(await night([{ key: 'k1' }, { key: 'a.com' }, {}])).toEqual(['new', 'new', 'new']);
    expect(await night([{ key: 'k1', values: ['not fetched'] }, { key: 'a.com' }, {}])).toEqual([
      '',
      '',
      '',
    ]);
    // The same time of fetching, and yet another answer: the domain behind the key is another one.
    expect(await night([{ key: 'k1', domain: 'b.com', values: ['Bolt', 'Ulm'] }, {}])).toEqual([
      'domain;name',
      '',
    ]);
  });

  it('is said of each of several rows of a domain by itself, in their order', async () => {
    const { night } = openNights();
    const other = { domain: 'b.com' };
    await night([{}, other, {}]);
    expect(await night([{}, {}, other, {}])).toEqual(['', '', '', 'new']);
    expect(await night([{ fetchedAtMs: 2, values: ['X'] }, other, {}, {}, {}])).toEqual([
      'name;city',
      '',
      '',
      '',
      'new',
    ]);
  });

  it('is a column that is asked for now, or made in another way, though nothing was fetched', async () => {
    const { night } = openNights();
    await night([{}, { domain: 'b.com', fetchedAtMs: 5 + 2 ** 32 }], { columns: [DOMAIN, NAME] });
    const none = { domain: 'b.com', fetchedAtMs: 5 + 2 ** 32, values: ['Acme', ''] };
    expect(await night([{ values: ['not fetched', 'Ulm'] }, none])).toEqual(['city', '']);
    const made = columnAt('city', () => 'Bern', { expression: 'location.city', label: 'town' });
    expect(await night([{}], { columns: [DOMAIN, NAME, made] })).toEqual(['town']);
    expect(await night([{}], { columns: [DOMAIN, made, NAME] })).toEqual(['']);
    expect(await night([{ fetchedAtMs: 2 }], { columns: [DOMAIN, made, NAME] })).toEqual(['']);
  });

  it('is not that the same answer was spread over other columns', async () => {
    const { night } = openNights();
    const flat = (column: ComparedColumn): ComparedColumn => ({
      ...column,
      expression: flatExpression(column.expression),
    });
    await night([{}], { columns: [DOMAIN, flat(NAME)] });
    const wider = [DOMAIN, flat(NAME), flat(CITY)];
    const { night: another } = openNights();
    await another([{}], { columns: [DOMAIN, NAME] });
    expect(await another([{}], { columns: wider }), 'it was none').toEqual(['city']);
    expect(await night([{}], { columns: wider })).toEqual(['']);
    expect(await night([{ fetchedAtMs: 2, values: ['Acme', 'Bern'] }], { columns: wider })).toEqual(
      ['city'],
    );
  });

  it.each([
    [true, ['city', '']],
    [false, ['', '']],
  ])('is that the API dropped a column, where it did (%s), once', async (reportsLost, said) => {
    const { night } = openNights();
    await night([{}, { domain: 'b.com', values: ['Bolt'] }]);
    const narrower = { columns: [DOMAIN, NAME], reportsLost };
    const asked = [{ fetchedAtMs: 2 }, { domain: 'b.com', fetchedAtMs: 2, values: ['Bolt'] }];
    expect(await night(asked, narrower)).toEqual(said);
    expect(await night([{ fetchedAtMs: 3 }], narrower)).toEqual(['']);
  });

  it('keeps a dropped column for the rows that could not be asked', async () => {
    const { night, manifest } = openNights();
    await night([{}]);
    const narrower = { columns: [DOMAIN, NAME] };
    expect(await night([{ status: 'failed', fetchedAtMs: 2 }], narrower)).toEqual(['']);
    const failed = { status: 'failed', fetchedAtMs: 2 } as const;
    expect(await night([failed, { domain: 'b.com' }], narrower)).toEqual(['', 'new']);
    expect(columnsIn(manifest)).toEqual([['domain', 'name', 'city'], []]);
    expect(await night([{ fetchedAtMs: 3 }], narrower)).toEqual(['city']);
    expect(columnsIn(manifest)).toEqual([['domain', 'name', 'city'], ['city']]);
    await night([{ fetchedAtMs: 3 }], narrower);
    expect(columnsIn(manifest)).toEqual([['domain', 'name'], []]);
  });

  it('goes by the own cells of a row where a column does, also with the same answer', async () => {
    const { night } = openNights();
    const filled = columnAt('Industry', ({ blanks, fills }) =>
      blanks === 0 ? undefined : textOf(fills?.[0]),
    );
    const columns = [DOMAIN, { ...filled, dependsOnRow: true }];
    await night([{ blanks: 1, fills: ['Retail'] }], { columns });
    expect(await night([{ blanks: 1, fills: ['Retail'] }], { columns })).toEqual(['']);
    expect(await night([{ blanks: 1, fills: ['Mining'] }], { columns })).toEqual(['Industry']);
    // A value of the own is no change, and what was reported stays.
    expect(await night([{ blanks: 0 }], { columns })).toEqual(['']);
    expect(await night([{ blanks: 0, fetchedAtMs: 2 }], { columns })).toEqual(['']);
    expect(await night([{ blanks: 1, fills: ['Mining'] }], { columns })).toEqual(['']);
  });

  it('is right for thousands of rows, in their order and in another one', async () => {
    const { night } = openNights();
    const rows = Array.from({ length: 3_000 }, (_, at) => ({ domain: `d${at}.com` }));
    await night(rows);
    const changed = rows.map(({ domain }, at) =>
      at % 7 === 0 ? { domain, fetchedAtMs: 2, values: ['X', 'Ulm'] } : { domain },
    );
    const expected = changed.map((_, at) => (at % 7 === 0 ? 'name' : ''));
    expect(await night(changed)).toEqual(expected);
    expect(await night(changed.toReversed())).toEqual(changed.map(() => ''));
  });

  it('is reported again where the last run came to no end', async () => {
    const { night, notices } = openNights();
    await night([{}], { isDone: false });
    expect(await night([{}])).toEqual(['new']);
    await night([{ fetchedAtMs: 2, values: ['X'] }], { isDone: false });
    expect(await night([{ fetchedAtMs: 2, values: ['X'] }])).toEqual(['name;city']);
    expect(notices).toEqual([]);
  });
});

describe('a record of the last run that cannot be read', () => {
  const damages: Readonly<Record<string, (path: string, bytes: Buffer) => void>> = {
    'is cut at its end': (path, bytes) => truncateSync(path, bytes.length - 1),
    'lacks a record': (path, bytes) =>
      writeFileSync(path, Buffer.concat([bytes.subarray(0, 8), bytes.subarray(36)])),
    'is empty': (path) => writeFileSync(path, ''),
    'is of something else': (path) => writeFileSync(path, 'domain,name\n'.repeat(99)),
    'has another beginning': (path, bytes) => write(path, bytes, 0),
    'has another end': (path, bytes) => write(path, bytes, bytes.length - 4),
    'is of another version': (path, bytes) =>
      writeFileSync(
        path,
        Buffer.from(bytes.toString('latin1').replace(/"version":\d/, '"version":9'), 'latin1'),
      ),
  };

  function write(path: string, bytes: Buffer, at: number): void {
    bytes.writeUInt32LE(7, at);
    writeFileSync(path, bytes);
  }

  it.each(Object.keys(damages))('%s: all rows count as new, which is said', async (name) => {
    const { manifest, night, notices } = openNights();
    await night([{}, { domain: 'b.com' }]);
    damages[name]?.(manifest, readFileSync(manifest));
    expect(await night([{}])).toEqual(['new']);
    expect(notices).toEqual([expect.stringContaining(`(${manifest}) cannot be read`)]);
    expect(await night([{}])).toEqual(['']);
  });

  it('is for nobody else to read', async () => {
    const { manifest, night } = openNights();
    await night([{}]);
    expect(statSync(manifest).mode & 0o077).toBe(0);
    expect(statSync(join(manifest, '..')).mode & 0o077).toBe(0);
  });

  it('has a name of its own for each list, and needs a folder', () => {
    const folder = useTempFolder();
    const [one, other] = ['a', 'b'].map((id) => prepareManifest({ folder, id }));
    expect(one).not.toBe(other);
    expect(prepareManifest({ folder, id: 'a' })).toBe(one);
    writeFileSync(join(folder, 'file'), '');
    expect(() => prepareManifest({ folder: join(folder, 'file'), id: 'a' })).toThrow(
      /^Cannot write to .*file: /,
    );
  });
});

it('columns are compared by the text that is written, and those of several pieces by the piece', () => {
  const format = { textOf: (value: unknown) => `<${String(value)}>` } as RowFormat;
  const column = (name: string, more: Partial<OutputColumn> = {}): OutputColumn => ({
    name,
    expression: name,
    valueOf: () => name,
    ...more,
  });
  const compared = comparedColumnsOf(
    [
      column('name'),
      column('at', { isCompared: false }),
      column('city', { isFlat: true }),
      column('json', { parts: [column('a'), column('b', { isFlat: true })] }),
      { name: 'none', valueOf: () => 1 },
    ],
    format,
  );
  expect(
    compared.map(({ name, label, expression, textOf, dependsOnRow }) => [
      name,
      label,
      expression,
      textOf(rowOf()),
      dependsOnRow,
    ]),
  ).toEqual([
    ['name', 'name', 'name', '<name>', false],
    ['city', 'city', flatExpression('city'), '<city>', false],
    ['a', 'json', 'a', '<a>', false],
    ['b', 'json', flatExpression('b'), '<b>', false],
    ['none', 'none', '', '<1>', false],
  ]);
});

/** Identities that often meet in their first word, or altogether. */
const identity = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 2 }));

it('a table of records gives each record once, to an identity that is its own, the first of those left', () => {
  fc.assert(
    fc.property(fc.array(identity), fc.array(identity), (records, rows) => {
      const table = createRecordTable(new Uint32Array(records.flat()));
      const left = new Set(records.keys());
      for (const [low, high] of rows) {
        const isIt = (record: number): boolean =>
          records[record]?.[0] === low && records[record]?.[1] === high;
        const first = [...left].find(isIt) ?? -1;
        expect(table.take(low, high)).toBe(first);
        left.delete(first);
      }
    }),
    { numRuns: 150 },
  );
});

it('records that are gathered while others are still being written do not get into these', async () => {
  const path = join(useTempFolder(), 'told.manifest');
  // Together they are so long that the system is given them in several pieces.
  const columns = Array.from({ length: 400 }, (_, at) => ({
    name: `c${at}`,
    expression: `c${at}`,
  }));
  const [first, later] = [3_000, 2_000];
  const writer = await openManifestWriter(path, columns);
  const add = (count: number, mark: number): void => {
    for (let record = 0; record < count; record += 1) {
      const at = writer.add();
      writer.words.fill(mark, at, at + RECORD_HEAD_WORDS + columns.length);
    }
  };

  add(first, 1);
  await writer.flush();
  add(later, 2);
  await writer.finish();
  await writer.commit();

  const manifest = openManifest(path);
  if (manifest === undefined || manifest === 'damaged') throw new Error('it cannot be read');
  const marks = Array.from(
    { length: first + later },
    (_, record) => manifest.words[manifest.read(record) + AT.idLow],
  );
  await manifest.close();
  expect(marks.indexOf(2)).toBe(first);
  expect(marks.lastIndexOf(1)).toBe(first - 1);
});
