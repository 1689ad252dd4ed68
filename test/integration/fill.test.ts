import { describe, expect, it } from 'vitest';
import { enrichRows } from '../../src/index.ts';
import { row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { openScripted } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder, openList } from './support/folder.ts';

const ANSWERS = {
  'a.com': { body: { name: 'A', at: { city: 'Oslo; N' }, phone: '+47 1' } },
  'b.com': { body: { name: 'B', at: { city: 'Rome' } } },
  'c.com': { status: 404 },
};

describe('--fill', () => {
  it('writes into blank cells of the list, and leaves the rest to the byte', async () => {
    const folder = openList(
      'domain;"City";phone\r\na.com;"";  \r\nb.com;x  \r\nc.com;;\r\n"b.com"\r\n-;;\r\n',
    );
    const { url } = await openScripted(ANSWERS);
    const fill = { city: 'at.city', phone: 'phone' };
    const options = { input: 'list.csv', baseUrl: url, fields: 'name=name', fill };
    const { summary } = await enrichIn(folder, options);
    expect(folder.read('list.enriched.csv')).toBe(
      'domain;"City";phone;brand_domain;brand_status;brand_fetched_at;brand_name\r\n' +
        `a.com;"Oslo; N";+47 1;a.com;found;<time>;A\r\n` +
        'b.com;x  ;;b.com;found;<time>;B\r\n' +
        'c.com;;;c.com;not_found;<time>;\r\n' +
        '"b.com";Rome;;b.com;found;<time>;B\r\n' +
        '-;;;;invalid;;\r\n',
    );
    expect(summary.filled).toEqual({ City: 2, phone: 1 });
    expect(folder.read('list.failures.csv')).toMatch(/\r\nc\.com;;;3;.*\r\n-;;;5;/);
  });

  it('gives objects what they lack', async () => {
    const folder = openFolder();
    const list = '{"domain":"a.com","n":1.0}\n{"domain":"b.com","city":null}\n{"domain":"c.com"}\n';
    folder.write('list.jsonl', list);
    const { url } = await openScripted(ANSWERS);
    const options = { baseUrl: url, fields: 'name=name', fill: ['city=at.city'] };
    await enrichIn(folder, { input: 'list.jsonl', ...options });
    expect(folder.read('list.enriched.jsonl')).toBe(
      '{"domain":"a.com","n":1.0,"city": "Oslo; N","brand_domain":"a.com","brand_status":"found","brand_fetched_at":"<time>","brand_name":"A"}\n' +
        '{"domain":"b.com","city":"Rome","brand_domain":"b.com","brand_status":"found","brand_fetched_at":"<time>","brand_name":"B"}\n' +
        '{"domain":"c.com","brand_domain":"c.com","brand_status":"not_found","brand_fetched_at":"<time>"}\n',
    );
    const rows = [];
    const input = [{ domain: 'a.com', city: '' }];
    for await (const row of enrichRows({ input, ...options, store: folder.at('other') }))
      rows.push(row);
    expect(rows).toMatchObject([{ city: 'Oslo; N' }]);
  });

  it('keeps formulas, as it is told, in CSV that is made of a workbook and beside it', async () => {
    const folder = openFolder();
    const rows = row(1, 'domain', 'motto') + row(2, 'a.com') + row(3, 'b.com', '=own');
    folder.write('list.xlsx', await workbookOf({ sheets: [{ name: 'List', rows }] }));
    folder.write('list.csv', 'domain,motto\na.com,\nb.com,=own\n');
    const { url } = await openScripted({ 'a.com': { body: { motto: '=A1' } } });
    const options = { baseUrl: url, fields: 'motto=motto', fill: { motto: 'motto' } };
    for (const [formulas, text] of [
      ['keep', '=A1'],
      ['guard', "'=A1"],
    ] as const) {
      for (const input of ['list.xlsx', 'list.csv']) {
        await enrichIn(folder, { ...options, formulas, input, out: 'out.csv' });
        expect(folder.read('out.csv').replace('\uFEFF', '')).toBe(
          'domain,motto,brand_domain,brand_status,brand_fetched_at,brand_motto\n' +
            `a.com,${text},a.com,found,<time>,${text}\nb.com,=own,b.com,found,<time>,\n`,
        );
      }
    }
  });
});
