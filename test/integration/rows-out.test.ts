import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApi, openScripted } from './support/api.ts';
import { enrichHere } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { domains, objectsOf, openFolder, openList, rowsOf } from './support/folder.ts';

describe('the output', () => {
  it('makes text of the API harmless, leaves numbers and the own cells alone', async () => {
    const folder = openList('domain,own\nacme.com,=1+1\n');
    const api = await openScripted({
      'acme.com': {
        body: { a: '=HYPERLINK("http://x")', b: '+49 30', e: '\tx', number: -5, list: ['=x', 'y'] },
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
        brand_e: "'\tx",
        brand_number: '-5',
        brand_list: "'=x; y",
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
