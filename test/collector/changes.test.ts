import { describe, expect, it } from 'vitest';
import {
  type ComparedColumn,
  comparedColumnsOf,
  openChanges,
} from '../../src/collector/changes.ts';
import type { JoinedRow } from '../../src/collector/joined-row.ts';
import { useStore } from '../store/outcomes.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const DOMAIN = columnAt('domain', ({ domain }) => domain);
const NAME = columnAt('name', ({ values }) => textOf(values[0]));
const CITY = columnAt('city', ({ values }) => textOf(values[1]));

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function columnAt(name: string, read: ComparedColumn['textOf']): ComparedColumn {
  return { name, textOf: read };
}

function rowOf(row: Partial<JoinedRow>): JoinedRow {
  const answered = { status: 'found', reason: '', outcome: undefined } as const;
  const own = { raw: '', fields: 1, number: 1, key: '', api: 0, fills: undefined };
  return { ...own, ...answered, domain: 'a.com', fetchedAtMs: 1, values: ['Acme', 'Ulm'], ...row };
}

interface Night {
  readonly columns?: readonly ComparedColumn[];
  readonly reportsColumns?: boolean;
  /** Rows above the others that are not looked up. */
  readonly leftOut?: readonly Partial<JoinedRow>[];
  /** Whether the changes file got into its place. */
  readonly isDone?: boolean;
}

async function openNights() {
  const store = await useStore(useTempFolder());
  /** What a run reports of its rows: `new`, the columns that changed, or nothing. */
  const night = async (
    rows: readonly Partial<JoinedRow>[],
    {
      columns = [DOMAIN, NAME, CITY],
      reportsColumns = true,
      leftOut = [],
      isDone = true,
    }: Night = {},
  ): Promise<readonly string[]> => {
    const changes = openChanges({ reported: store.reported('out'), columns, reportsColumns });
    for (const row of leftOut) changes.keep(rowOf(row));
    const found = rows.map((row) => changes.find(rowOf(row)));
    if (isDone) await changes.commit();
    const said = found.map((change) => (change?.kind === 'new' ? 'new' : (change?.columns ?? '')));
    expect(changes.counts).toEqual({
      new: said.filter((each) => each === 'new').length,
      changed: said.filter((each) => each !== 'new' && each !== '').length,
    });
    return said;
  };
  return { night, keys: () => [...store.reported('out').keys()] };
}

describe('what is reported of rows, night after night,', () => {
  it('is each of them once, then the columns that changed, then nothing', async () => {
    const { night } = await openNights();
    const two = { domain: 'b.com', values: ['Bolt', ''] };
    expect(await night([{}, two])).toEqual(['new', 'new']);
    expect(await night([two, {}])).toEqual(['', '']);
    expect(await night([{ values: ['Acme AG', 'Bern'] }, two])).toEqual(['name;city', '']);
    expect(await night([{ values: ['Acme AG', ''] }, two])).toEqual(['city', '']);
  });

  it.each(['failed', 'stale', 'skipped', 'pending'] as const)(
    'is nothing of a row that is %s, whose next answer is compared with the last one',
    async (status) => {
      const { night } = await openNights();
      await night([{}]);
      const away = { status, values: [undefined, undefined] };
      expect(await night([away, { ...away, domain: 'b.com' }])).toEqual(['', '']);
      expect(await night([{}, { domain: 'b.com' }])).toEqual(['', 'new']);
    },
  );

  it('is that a row lost its domain, if it was reported before and has a key', async () => {
    const { night } = await openNights();
    const invalid = { status: 'invalid', domain: '', values: [] } as const;
    await night([{ key: 'k1' }]);
    const lost = await night([{ ...invalid, key: 'k1' }, { ...invalid, key: 'k2' }, invalid]);
    expect(lost).toEqual(['domain;name;city', '', '']);
    expect(await night([{ key: 'k1' }])).toEqual(['domain;name;city']);
  });

  it('is kept of rows that a night leaves out, in their order', async () => {
    const { night } = await openNights();
    const other = { domain: 'b.com' };
    const second = { values: ['X'] };
    await night([{}, second, other, { key: 'k', domain: '' }]);
    const leftOut = [{}, other, { key: 'k', domain: '' }];
    expect(await night([second], { leftOut })).toEqual(['']);
    expect(await night([{}, second, other, { key: 'k', domain: '' }])).toEqual(['', '', '', '']);
    expect(await night([second], { leftOut: [{}] })).toEqual(['']);
    expect(await night([{}, second, other])).toEqual(['', '', 'new']);
  });

  it('is said of each of several rows of a domain by itself, in their order', async () => {
    const { night, keys } = await openNights();
    const other = { domain: 'b.com' };
    await night([{}, other, {}]);
    expect(await night([{}, {}, other, {}])).toEqual(['', '', '', 'new']);
    expect(await night([{ values: ['X'] }])).toEqual(['name;city']);
    expect(keys().toSorted()).toEqual(['columns', 'd a.com']);
    expect(await night([{ values: ['X'] }, other, { key: 'a.com' }])).toEqual(['', 'new', 'new']);
  });

  it.each([
    [true, ['city', '']],
    [false, ['', '']],
  ])('is that the API dropped a column, where it did (%s), once', async (reportsColumns, said) => {
    const { night } = await openNights();
    const two = { domain: 'b.com', values: ['Bolt'] };
    await night([{}, two]);
    const narrower = { columns: [DOMAIN, NAME], reportsColumns };
    expect(await night([{ status: 'failed' }, two], narrower)).toEqual(['', '']);
    expect(await night([{}, two], narrower)).toEqual(said);
    expect(await night([{}, two], narrower)).toEqual(['', '']);
  });

  it('goes by the own cells of a row where a column does, also with the same answer', async () => {
    const { night } = await openNights();
    const filled = columnAt('Industry', ({ fills }) => fills && textOf(fills[0]));
    const columns = [DOMAIN, filled];
    await night([{ fills: ['Retail'] }], { columns });
    expect(await night([{ fills: ['Mining'] }], { columns })).toEqual(['Industry']);
    // A value of the own is no change, and what was reported stays.
    expect(await night([{}], { columns })).toEqual(['']);
    expect(await night([{ fills: ['Mining'] }], { columns })).toEqual(['']);
  });

  it('is what changed among the values without a column, while the columns are the same', async () => {
    const { night } = await openNights();
    const rest = (beside: string): ComparedColumn => ({
      ...columnAt('json', ({ reason }) => reason),
      beside,
    });
    const few = [DOMAIN, rest('few')];
    const more = [DOMAIN, NAME, rest('more')];
    await night([{ reason: '{"a":1}' }], { columns: few });
    expect(await night([{ reason: '{"a":2}' }], { columns: few })).toEqual(['json']);
    expect(await night([{ reason: '{}' }], { columns: more })).toEqual(['name']);
    expect(await night([{ reason: '{}' }], { columns: more })).toEqual(['']);
    expect(await night([{ reason: '{"b":1}' }], { columns: more })).toEqual(['json']);
  });

  it('is reported again where the last run came to no end', async () => {
    const { night } = await openNights();
    await night([{}], { isDone: false });
    expect(await night([{}])).toEqual(['new']);
    await night([{ values: ['X'] }], { isDone: false });
    expect(await night([{ values: ['X'] }])).toEqual(['name;city']);
  });
});

it('columns are compared by the text that is written, but for those that say when', () => {
  const format = { textOf: (value: unknown) => `<${String(value)}>` };
  const columns = [
    { name: 'name', valueOf: () => 'Acme' },
    { name: 'at', isCompared: false, valueOf: () => 1 },
  ];
  const compared = comparedColumnsOf(columns, format);
  expect(compared.map(({ name, textOf }) => [name, textOf(rowOf({}))])).toEqual([
    ['name', '<Acme>'],
  ]);
  const rest = { name: 'json', isRest: true, valueOf: () => ({}) };
  const besideOf = (name: string) =>
    comparedColumnsOf([{ name, valueOf: () => 1 }, rest], format).at(-1)?.beside;
  expect(besideOf('name')).not.toBe(besideOf('city'));
});
