import { describe, expect, it } from 'vitest';
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

  it('take memory for one of them, and make no columns', async () => {
    const { url } = await openApi({ respond: withNames(20_000) });
    const folder = openList(16);
    const flags = ['enrich', 'list.csv', '--base-url', url, '--concurrency', '2'];
    const place = { cwd: folder.path, env: { NODE_OPTIONS: '--max-old-space-size=80' } };
    const first = await run(flags, place);
    expect(first.code).toBe(0);
    const out = folder.read('list.enriched.csv');
    expect(enrichedOf(out)).toEqual(['json']);
    expect(out.match(/company-0\.com 19999/g)).toHaveLength(1);
    const again = await runHere(flags, { cwd: folder.path });
    expect([again.code, folder.read('list.enriched.csv') === out]).toEqual([0, true]);
  });
});

describe('the columns of the flattened answer', () => {
  it('are in the order of their first appearance', async () => {
    const { url } = await openScripted({
      'a.com': body({ odd: 1, name: 'A', at: { zip: 'x' }, blank: null, tags: [] }),
      'b.com': body({ name: 'B', blank: null, at: { city: 'Oslo', zip: '' }, tags: [] }),
      'c.com': body({ name: 'C', blank: null, at: { city: 'Rom' }, tags: ['a', 'b'] }),
    });
    const folder = openList('domain\na.com\nb.com\nc.com\nwww.c.com\nd.com\n');
    const first = await enrichIn(folder, { input: 'list.csv', baseUrl: url });
    const expected = ['odd', 'name', 'at_zip', 'blank', 'tags', 'at_city'];
    expect(enrichedOf(folder.read('list.enriched.csv'))).toEqual(expected);
    const out = folder.read('list.enriched.csv');
    // Nothing is to be looked up now: the same, found in another way.
    const again = await enrichIn(folder, { input: 'list.csv', baseUrl: url });
    expect([first.summary.lookups, again.summary.lookups]).toEqual([4, 0]);
    expect(folder.read('list.enriched.csv')).toBe(out);
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

  it('tells nothing of answers that are the same, where names have no end', async () => {
    const all = domains(700);
    const says = Object.fromEntries(all.map((domain) => [domain, body({ [`#${domain}`]: 1 })]));
    const night = await openNights(says);
    expect(await night(listOf(all.slice(100)), {})).toHaveLength(600);
    const news = await night(listOf(all), {});
    expect(new Set(news.map(([, change]) => change))).toEqual(new Set(['new']));
    expect(news).toHaveLength(100);
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
