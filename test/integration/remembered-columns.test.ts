import { describe, expect, it } from 'vitest';
import type { EnrichOptions } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { cellsOf } from './support/tables.ts';

interface Nights {
  readonly folder: Folder;
  /** Enriches the list with what the API says tonight, and gives the columns of answers. */
  run(
    says: Record<string, object>,
    more?: Partial<Omit<EnrichOptions, 'input'>> & { readonly input?: string },
  ): Promise<string[]>;
}

async function openNights(): Promise<Nights> {
  const folder = openList('domain\na.com\nb.com\n');
  let tonight: Record<string, object> = {};
  const respond = (domain: string): SandboxReply =>
    tonight[domain] ? { body: tonight[domain] } : { status: 404 };
  const { url } = await openApi({ respond });
  return {
    folder,
    run: async (says, more = {}) => {
      tonight = says;
      const options = { baseUrl: url, out: 'out.csv', failures: 'failures.csv', refresh: true };
      await enrichIn(folder, { input: 'list.csv', ...options, ...more });
      const out = more.out ?? 'out.csv';
      const written = folder.read(out);
      const header = out.endsWith('.jsonl')
        ? Object.keys(JSON.parse(written))
        : (cellsOf(written)[0] ?? []);
      return header.slice(4).map((name) => name.replace('brand_', ''));
    },
  };
}

describe('the columns of an output', () => {
  it('keep their order when more rows have another one, and new ones come at the end', async () => {
    const { run } = await openNights();
    expect(await run({ 'a.com': { name: 'A', city: 'Oslo' }, 'b.com': { name: 'B' } })).toEqual([
      'name',
      'city',
    ]);
    const said = { phone: '1', city: 'Oslo', year: 1999 };
    expect(await run({ 'a.com': said, 'b.com': said })).toEqual(['name', 'city', 'phone', 'year']);
    expect(await run({ 'a.com': { year: 1, name: 'A' } })).toEqual([
      'name',
      'city',
      'phone',
      'year',
    ]);
  });

  it('stay when no row has a value in them, also when nothing is known at all', async () => {
    const { run, folder } = await openNights();
    const columns = await run({ 'a.com': { name: 'A', city: 'Oslo' } });
    expect(await run({ 'a.com': { name: 'A' } })).toEqual(columns);
    expect(await run({})).toEqual(columns);
    expect(cellsOf(folder.read('out.csv'))[1]?.slice(4)).toEqual(['', '']);
  });

  it('keep their names when another value wants the same', async () => {
    const { run, folder } = await openNights();
    expect(await run({ 'a.com': { a: { b: 'inner' } } })).toEqual(['a_b']);
    expect(await run({ 'a.com': { a_b: 'outer', a: { b: 'inner' } } })).toEqual(['a_b', 'a_b_2']);
    expect(cellsOf(folder.read('out.csv'))[1]?.slice(4)).toEqual(['inner', 'outer']);
  });

  it('keep their names and their order as members of objects, too', async () => {
    const { run, folder } = await openNights();
    folder.write('list.jsonl', '{"domain":"a.com"}\n');
    const lines = { input: 'list.jsonl', out: 'out.jsonl', failures: 'failures.jsonl' };
    await run({ 'a.com': { a: { b: 'inner' }, name: 'A' } }, lines);
    const said = { name: 'A', a_b: 'outer', a: { b: 'inner' } };
    expect(await run({ 'a.com': said }, lines)).toEqual(['a_b', 'name', 'a_b_2']);
    expect(JSON.parse(folder.read('out.jsonl'))).toMatchObject({ brand_a_b: 'inner' });
  });

  it('are as many as --max-columns at most; what is new then goes into json', async () => {
    const { run, folder } = await openNights();
    const few = { maxColumns: 2 };
    expect(await run({ 'a.com': { one: 1, two: 2 } }, few)).toEqual(['one', 'two']);
    expect(await run({ 'a.com': { three: 3, four: 4 } }, few)).toEqual(['one', 'two', 'json']);
    expect(cellsOf(folder.read('out.csv'))[1]?.at(-1)).toBe('{"three":3,"four":4}');
    expect(await run({ 'a.com': { one: 1 } }, few)).toEqual(['one', 'two', 'json']);
    expect(await run({ 'a.com': { three: 3 } }, { maxColumns: 3 })).toEqual([
      'one',
      'two',
      'json',
      'three',
    ]);
  });

  it('are known by the list when the output has the date in its name, and the other way round', async () => {
    const { run, folder } = await openNights();
    const first = { 'a.com': { name: 'A', city: 'Oslo' } };
    expect(await run(first, { out: 'monday.csv' })).toEqual(['name', 'city']);
    const next = { 'a.com': { city: 'Oslo', age: 1 } };
    expect(await run(next, { out: 'tuesday.csv' })).toEqual(['name', 'city', 'age']);
    folder.write('other.csv', 'domain\na.com\n');
    const other = { input: 'other.csv', out: 'tuesday.csv' };
    expect(await run({ 'a.com': { age: 1 } }, other)).toEqual(['name', 'city', 'age']);
    expect(await run({ 'a.com': { age: 1 } }, { input: 'other.csv', out: 'new.csv' })).toEqual([
      'name',
      'city',
      'age',
    ]);
  });

  it('are those of --fields where it is given, and of another list elsewhere', async () => {
    const { run, folder } = await openNights();
    await run({ 'a.com': { name: 'A', city: 'Oslo' } });
    expect(await run({ 'a.com': { name: 'A' } }, { fields: 'who=name' })).toEqual(['who']);
    folder.write('third.csv', 'domain\na.com\n');
    const elsewhere = { input: 'third.csv', out: 'third.out.csv' };
    expect(await run({ 'a.com': { name: 'A' } }, elsewhere)).toEqual(['name']);
  });
});
