import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApi, openScripted } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { enrichHere } from './support/program.ts';
import { cellsOf, domains, listOf, objectsOf, rowsOf } from './support/tables.ts';

describe('the output', () => {
  it('has the columns of all answers, also those that only the last row has', async () => {
    const folder = openList(listOf(['acme.com', 'bolt.com', 'core.com']));
    const api = await openScripted({
      'acme.com': { body: { name: 'Acme', at: { city: 'Oslo' } } },
      'bolt.com': { body: { name: 'Bolt', at: { zip: '0150', city: 'Rom' }, ok: true } },
      'core.com': { body: { last: [1, 'two', null] } },
    });
    await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    const [header, ...rows] = cellsOf(folder.read('list.enriched.csv'));
    expect(header?.slice(1, 4)).toEqual(['brand_domain', 'brand_status', 'brand_fetched_at']);
    expect(new Set(header?.slice(4))).toEqual(
      new Set(['brand_last', 'brand_name', 'brand_at_zip', 'brand_at_city', 'brand_ok']),
    );
    const cell = (row: number, name: string) => rows[row]?.[header?.indexOf(name) ?? -1];
    expect([cell(0, 'brand_at_city'), cell(1, 'brand_at_zip'), cell(1, 'brand_ok')]).toEqual([
      'Oslo',
      '0150',
      'true',
    ]);
    expect(cell(2, 'brand_last')).toBe('1; two; ');
    expect(cell(2, 'brand_name')).toBe('');
  });

  it('makes text of the API harmless, leaves numbers and the own cells alone', async () => {
    const folder = openList('domain,own\nacme.com,=1+1\n');
    const api = await openScripted({
      'acme.com': {
        body: {
          a: '=HYPERLINK("http://x")',
          b: '+49 30',
          c: '-A1',
          d: '@SUM(A1)',
          e: '\tx',
          f: '\rx',
          number: -5,
          list: ['=x', 'y'],
          fine: 'a=b',
        },
      },
    });
    await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    expect(rowsOf(folder.read('list.enriched.csv'))).toEqual([
      {
        domain: 'acme.com',
        own: '=1+1',
        brand_domain: 'acme.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        brand_a: `'=HYPERLINK("http://x")`,
        brand_b: '+49 30',
        brand_c: "'-A1",
        brand_d: "'@SUM(A1)",
        brand_e: "'\tx",
        brand_f: "'\rx",
        brand_number: '-5',
        brand_list: "'=x; y",
        brand_fine: 'a=b',
      },
    ]);
  });

  it('in JSONL has the values of the API as they are, structures included', async () => {
    const folder = openFolder();
    folder.write('list.jsonl', '{"domain":"acme.com"}\n');
    const body = { f: '=1+1', n: -5, yes: true, none: null, list: [{ a: 1 }], at: { x: 'y' } };
    const api = await openScripted({ 'acme.com': { body } });
    await enrichIn(folder, { input: 'list.jsonl', baseUrl: api.url });
    expect(objectsOf(folder.read('list.enriched.jsonl'))).toEqual([
      {
        domain: 'acme.com',
        brand_domain: 'acme.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        brand_f: '=1+1',
        brand_n: -5,
        brand_yes: true,
        brand_none: null,
        brand_list: [{ a: 1 }],
        brand_at_x: 'y',
      },
    ]);
  });

  it.each(['csv', 'jsonl'])(
    'of failures (%s) is itself a list: its rows can be run again',
    async (format) => {
      const folder = openFolder();
      const names = domains(9);
      folder.write(
        `list.${format}`,
        format === 'csv'
          ? `id,domain\n${names.map((name, at) => `0${at},"${name}"`).join('\n')}\n`
          : names.map((name, at) => `{"id":${at}.0,"domain":"${name}"}\n`).join(''),
      );
      let isMended = false;
      const api = await openApi({
        respond: (domain) =>
          !isMended && Number(/\d/.exec(domain)?.[0]) % 3 === 0
            ? { status: 500 }
            : { body: { domain } },
      });
      const options = { baseUrl: api.url, retries: 0 };
      const first = await enrichIn(folder, { input: `list.${format}`, ...options });
      expect(first.summary.statuses).toMatchObject({ found: 6, failed: 3 });
      isMended = true;
      const again = await enrichIn(folder, { input: `list.failures.${format}`, ...options });
      expect(again.summary).toMatchObject({ rows: 3, calls: 3, statuses: { found: 3 } });
      const text = folder.read(`list.failures.enriched.${format}`);
      const rows = format === 'csv' ? rowsOf(text) : objectsOf(text);
      expect(rows).toMatchObject(
        [0, 3, 6].map((at) => ({
          domain: names[at],
          brand_domain: names[at],
          brand_status: 'failed',
          brand_reason: 'http_500',
          brand_domain_2: names[at],
          brand_status_2: 'found',
          brand_fetched_at: '<time>',
        })),
      );
      if (format === 'jsonl') expect(text).toContain('"id":3.0');
      else expect(text).toContain('\n03,"company-3.com",');
    },
  );

  it.skipIf(!existsSync('/dev/null'))('may be a device, also one for both', async () => {
    const folder = openList(3);
    const api = await openScripted({});
    const flags = ['--out', '/dev/null', '--failures', '/dev/null'];
    const ended = await enrichHere(folder, api.url, ...flags);
    expect(ended.code).toBe(0);
    expect(folder.names()).toEqual(['list.csv']);
  });
});
