import { describe, expect, it } from 'vitest';
import { type EnrichedRow, enrichRows } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { rowsOf } from './support/tables.ts';

const LIST = 'Firma,E-Mail\nAcme,jo@acme.com\nJo,Jo <jo@GMAIL.com>\nMo,mo@uk.yahoo.com\nNo,\n';

function openListOf(text = LIST): Folder {
  const folder = openList(text);
  return folder;
}

function reasonsOf(csv: string): (string | undefined)[] {
  return rowsOf(csv).map((row) => row['brand_reason']);
}

describe('a list with e-mail addresses and no website', () => {
  it('is looked up by their domains, but for those of free mail', async () => {
    const folder = openListOf();
    const api = await openApi();
    const { summary } = await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    expect(summary).toMatchObject({ calls: 2, statuses: { found: 2, invalid: 2 } });
    expect(reasonsOf(folder.read('list.failures.csv'))).toEqual(['free_mail', 'empty']);
  });

  it('has those of free mail also below the domain that is looked up, with --registrable', async () => {
    const folder = openListOf();
    const api = await openApi();
    const options = { input: 'list.csv', baseUrl: api.url, registrable: true };
    const { summary } = await enrichIn(folder, options);
    expect(summary).toMatchObject({ calls: 1, statuses: { found: 1, invalid: 3 } });
    const reasons = ['free_mail', 'free_mail', 'empty'];
    expect(reasonsOf(folder.read('list.failures.csv'))).toEqual(reasons);
  });

  it('is looked up with them too, with --keep-free-mail', async () => {
    const folder = openListOf();
    const api = await openApi();
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--keep-free-mail'];
    expect((await runHere(args, { cwd: folder.path })).code).toBe(0);
    const domains = rowsOf(folder.read('list.enriched.csv')).map((row) => row['brand_domain']);
    expect(domains).toEqual(['acme.com', 'gmail.com', 'uk.yahoo.com', '']);
  });

  it('can be mended in its failures file and merged', async () => {
    const folder = openListOf();
    const api = await openApi();
    await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    const failures = folder.read('list.failures.csv');
    folder.write('list.failures.csv', failures.replace('Jo <jo@GMAIL.com>', 'jo@jo.com'));
    const merge = folder.at('list.enriched.csv');
    await enrichIn(folder, { input: 'list.failures.csv', baseUrl: api.url, merge });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(rows.map((row) => [row['brand_domain'], row['brand_status']])).toEqual([
      ['acme.com', 'found'],
      ['jo.com', 'found'],
      ['uk.yahoo.com', 'found'],
      ['', 'invalid'],
    ]);
    const again = { input: 'list.failures.csv', baseUrl: api.url, merge, keepFreeMail: true };
    await expect(enrichIn(folder, again)).resolves.toBeDefined();
  });
});

describe('a list with a website', () => {
  it('is looked up by it, and a website at a domain of free mail counts', async () => {
    const folder = openListOf(
      'E-Mail,Site web\njo@acme.com,https://gmail.com/\nmo@gmail.com,mo.com\nno@x.com,no@gmail.com\n',
    );
    const api = await openApi();
    const { summary } = await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    expect(summary.statuses).toMatchObject({ found: 2, invalid: 1 });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(rows.map((row) => row['brand_domain'])).toEqual(['gmail.com', 'mo.com', '']);
  });
});

describe('objects', () => {
  it('with e-mail addresses are looked up in the same way', async () => {
    const api = await openApi();
    const input = [{ email: 'jo@acme.com' }, { email: 'jo@web.de' }];
    const rows: EnrichedRow[] = [];
    const store = openFolder().at('store');
    for await (const row of enrichRows({ input, baseUrl: api.url, store })) rows.push(row);
    expect(rows.map((row) => row['brand_status'])).toEqual(['found', 'invalid']);
  });
});
