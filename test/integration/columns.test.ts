import { describe, expect, it } from 'vitest';
import { enrichRows } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi, openScripted } from './support/api.ts';
import { run } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { domains, listOf, rowsOf } from './support/tables.ts';

const body = (body: object): SandboxReply => ({ body });

/** Names of the enriched columns of an output, without prefix. */
function enrichedOf(csv: string): readonly string[] {
  const header = csv.slice(0, csv.indexOf('\n')).split(',');
  return header.slice(header.indexOf('brand_fetched_at') + 1).map((name) => name.slice(6));
}

describe('answers whose names are data', () => {
  /** As many new names in every answer. */
  const withNames = (count: number) => (domain: string) =>
    body({
      name: domain,
      ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`${domain} ${at}`, at])),
    });

  it('take memory for one of them, make no columns, and say so once', async () => {
    const { url } = await openApi({ respond: withNames(20_000) });
    const folder = openList(16);
    const flags = ['enrich', 'list.csv', '--base-url', url, '--concurrency', '2'];
    const place = { cwd: folder.path, env: { NODE_OPTIONS: '--max-old-space-size=80' } };
    const first = await run(flags, place);
    expect([first.code, first.stderr.match(/more columns than are told apart/g)]).toEqual([
      0,
      ['more columns than are told apart'],
    ]);
    const out = folder.read('list.enriched.csv');
    expect(enrichedOf(out)).toEqual(['json']);
    expect(out.match(/company-0\.com 19999/g)).toHaveLength(1);
    const again = await runHere(flags, { cwd: folder.path });
    expect([again.code, folder.read('list.enriched.csv') === out]).toEqual([0, true]);
  });
});

describe('the columns of the flattened answer', () => {
  it('are in the order of how many rows have a value there; duplicates count', async () => {
    const { url } = await openScripted({
      'a.com': body({ odd: 1, name: 'A', at: { zip: 'x' }, blank: null, tags: [] }),
      'b.com': body({ name: 'B', blank: null, at: { city: 'Oslo', zip: '' }, tags: [] }),
      'c.com': body({ name: 'C', blank: null, at: { city: 'Rom' }, tags: ['a', 'b'] }),
    });
    const folder = openList('domain\na.com\nb.com\nc.com\nwww.c.com\nd.com\n');
    const first = await enrichIn(folder, { input: 'list.csv', baseUrl: url });
    const expected = ['name', 'at_city', 'tags', 'odd', 'at_zip', 'blank'];
    expect(enrichedOf(folder.read('list.enriched.csv'))).toEqual(expected);
    const out = folder.read('list.enriched.csv');
    // Nothing is to be looked up now: the same, found in another way.
    const again = await enrichIn(folder, { input: 'list.csv', baseUrl: url });
    expect([first.summary.lookups, again.summary.lookups]).toEqual([4, 0]);
    expect(folder.read('list.enriched.csv')).toBe(out);
  });

  it('are as many as --max-columns, and brand_json has what is in none of them', async () => {
    const answer = { name: 'A', at: { city: 'Oslo', zip: null }, 'x,"y': [{ z: 1 }] };
    const { url } = await openScripted({ 'a.com': body(answer), 'b.com': body({ name: 'B' }) });
    const folder = openList('domain\na.com\nb.com\nc\n');
    const flags = ['enrich', 'list.csv', '--base-url', url, '--max-columns', '2'];
    await runHere(flags, { cwd: folder.path });
    expect(rowsOf(folder.read('list.enriched.csv'))).toEqual([
      {
        domain: 'a.com',
        brand_domain: 'a.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        brand_name: 'A',
        brand_at_city: 'Oslo',
        brand_json: JSON.stringify({ at: { zip: null }, 'x,"y': [{ z: 1 }] }),
      },
      expect.objectContaining({ brand_name: 'B', brand_at_city: '', brand_json: '' }),
      expect.objectContaining({ brand_status: 'invalid', brand_json: '' }),
    ]);
    const rows = enrichRows({
      input: [{ domain: 'a.com' }],
      baseUrl: url,
      store: folder.at('.brandfill'),
      maxColumns: 0,
    });
    for await (const row of rows) expect(row).toMatchObject({ brand_json: answer });
  });

  it('have an end, where each answer has names of its own', async () => {
    const { url } = await openApi({
      respond: (domain) => body({ [`#${domain}`]: 0.5, name: 'N', colors: { [domain]: 1 } }),
    });
    const folder = openList(700);
    await enrichIn(folder, { input: 'list.csv', baseUrl: url });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(Object.keys(rows[0] ?? {})).toHaveLength(4 + 40 + 1);
    for (const { brand_domain: domain = '', brand_json: json, ...row } of rows) {
      const rest = JSON.parse(json || '{}') as { colors?: Record<string, number> };
      expect(row['brand_name']).toBe('N');
      expect({ ...row, ...rest }).toHaveProperty([
        `brand_#${domain}` in row ? `brand_#${domain}` : `#${domain}`,
      ]);
      expect(row[`brand_colors_${domain}`] ?? rest.colors?.[domain]).toEqual(expect.anything());
    }
  });

  it('are those of the earlier output where rows are merged into it', async () => {
    const says: Record<string, SandboxReply> = {
      'a.com': body({ name: 'A', city: 'Oslo', zip: 1, land: 'N' }),
      'b.com': { status: 500 },
    };
    const { url } = await openApi({ respond: (domain) => says[domain] });
    const folder = openList('domain\na.com\nb.com\n');
    const options = { baseUrl: url, retries: 0, maxColumns: 2 };
    await enrichIn(folder, { input: 'list.csv', ...options });
    says['b.com'] = body({ land: 'D', city: 'Rom', zip: 2, name: 'B' });
    const merge = folder.at('list.enriched.csv');
    await enrichIn(folder, { input: 'list.failures.csv', ...options, merge });
    expect(rowsOf(folder.read('list.enriched.csv'))).toMatchObject([
      { brand_name: 'A', brand_city: 'Oslo', brand_json: '{"zip":1,"land":"N"}' },
      { brand_name: 'B', brand_city: 'Rom', brand_json: '{"land":"D","zip":2}' },
    ]);
    expect(enrichedOf(folder.read('list.enriched.csv'))).toEqual(['name', 'city', 'json']);
  });
});

describe('a changes file', () => {
  async function openNights(says: Record<string, SandboxReply>) {
    const { url } = await openApi({ respond: (domain) => says[domain] });
    const folder = openFolder();
    return async (list: string, more: object): Promise<readonly (string | undefined)[][]> => {
      folder.write('list.csv', list);
      const changes = folder.at('changes.csv');
      await enrichIn(folder, { input: 'list.csv', baseUrl: url, changes, ...more });
      const rows = rowsOf(folder.read('changes.csv'));
      return rows.map((row) => [row['domain'], row['brand_change'], row['brand_changed']]);
    };
  }

  it('tells nothing when columns change places, fall into brand_json or come out of it', async () => {
    const night = await openNights({
      'a.com': body({ name: 'A', city: 'Oslo', zip: 1 }),
      'b.com': body({ name: 'B', zip: 2 }),
      'c.com': body({ zip: 3, city: 'Rom' }),
      'd.com': body({ city: 'Ulm' }),
    });
    const two = 'domain\na.com\nb.com\n';
    const four = `${two}c.com\nd.com\n`;
    expect(await night(two, { maxColumns: 2 })).toHaveLength(2);
    // Now city is had by more rows than name.
    const news = await night(four, { maxColumns: 2 });
    expect(news.map(([domain, change]) => [domain, change])).toEqual([
      ['c.com', 'new'],
      ['d.com', 'new'],
    ]);
    for (const maxColumns of [1, 0, 40, 2]) {
      expect(await night(four, { maxColumns })).toEqual([]);
      expect(await night(four, { maxColumns, refresh: true })).toEqual([]);
    }
  });

  it('tells nothing of answers that are the same, where names have no end', async () => {
    const all = domains(700);
    const says = Object.fromEntries(all.map((domain) => [domain, body({ [`#${domain}`]: 1 })]));
    const night = await openNights(says);
    expect(await night(listOf(all.slice(100)), {})).toHaveLength(600);
    const news = await night(listOf(all), {});
    expect(new Set(news.map(([, change]) => change))).toEqual(new Set(['new']));
    expect(news).toHaveLength(100);
  });

  it('names brand_json once for all that changes in it', async () => {
    const says = { 'a.com': body({ name: 'A', city: 'Oslo', zip: 1, tags: [] }) };
    const night = await openNights(says);
    await night('domain\na.com\n', { maxColumns: 2 });
    says['a.com'] = body({ name: 'B', city: 'Oslo', zip: 2, tags: ['x'] });
    expect(await night('domain\na.com\n', { maxColumns: 2, refresh: true })).toEqual([
      ['a.com', 'changed', 'brand_name;brand_json'],
    ]);
    expect(await night('domain\na.com\n', { maxColumns: 2, refresh: true })).toEqual([]);
  });
});

describe('columns that were asked for', () => {
  it('are told where no answer has anything for them, as after a typing error', async () => {
    const folder = openList(5);
    const { url } = await openApi({
      respond: (domain) => body({ name: domain, at: { city: 'Oslo' }, tags: [] }),
    });
    const enrich = async (fields: string) => {
      const flags = ['enrich', 'list.csv', '--base-url', url, '--fields', fields];
      return (await runHere(flags, { cwd: folder.path })).stderr;
    };
    expect(await enrich('name=name,city=city,tags=tags')).toContain(
      "Note: No answer has anything for 'brand_city' (city), 'brand_tags' (tags): blank in all 5 rows that were found; brandfill try shows what an answer has.\n",
    );
    expect(await enrich('name=name,city=at.city')).not.toContain('No answer');
    folder.write('list.csv', listOf(domains(4)));
    expect(await enrich('city=city')).not.toContain('No answer');
  });
});
