import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { rowsOf } from './support/tables.ts';

/** What people and programs put into the column of websites, and the domain or reason that is read. */
const CELLS: readonly (readonly [string, string])[] = [
  ['="www.acme.com"', 'acme.com'],
  ['=HYPERLINK("https://bolt.com","Bolt Inc.")', 'bolt.com'],
  ['Cora AG#http://www.cora.de##Visit Cora#', 'cora.de'],
  ['[Delta](https://delta.io/en)', 'delta.io'],
  ['https:// www.echo.com', 'echo.com'],
  ['https://fox–gmbh.de', 'fox-gmbh.de'],
  ['golf.com; https://www.golf.com/about', 'golf.com'],
  ['https://www.google.com/url?q=https://hotel.com/&sa=U', 'hotel.com'],
  ['linkedin.com', 'linkedin.com'],
  ['https://www.linkedin.com/company/acme', 'shared_host'],
  ['https://bit.ly/3abc', 'shared_host'],
  ['https://india.com/,https://india.in/', 'several_domains'],
  ['acme™.com', 'malformed'],
  ['#N/A', 'empty'],
  ['FALSE', 'empty'],
];

function openListOf(cells: readonly string[]): Folder {
  const folder = openFolder();
  const rows = cells.map((cell, at) => `${at + 1},"${cell.replaceAll('"', '""')}"\n`);
  folder.write('list.csv', `id,Website\n${rows.join('')}`);
  return folder;
}

describe('a list of what is found in lists', () => {
  it('is looked up by the addresses in its cells, and its cells stay as they are', async () => {
    const cells = CELLS.map(([cell]) => cell);
    const folder = openListOf(cells);
    const api = await openApi();
    await runHere(['enrich', 'list.csv', '--base-url', api.url], { cwd: folder.path });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(rows.map((row) => row['Website'])).toEqual(cells);
    const reasons = new Map(
      rowsOf(folder.read('list.failures.csv')).map((row) => [row['id'], row['brand_reason']]),
    );
    const read = rows.map((row) => row['brand_domain'] || reasons.get(row['id']));
    expect(read).toEqual(CELLS.map(([, expected]) => expected));
  });

  it('is looked up by hosts that many share too, with --keep-shared-hosts', async () => {
    const folder = openListOf(['acme.com', 'https://bit.ly/3abc', 'linkedin.com/company/acme']);
    const api = await openApi();
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--keep-shared-hosts'];
    expect((await runHere(args, { cwd: folder.path })).code).toBe(0);
    const domains = rowsOf(folder.read('list.enriched.csv')).map((row) => row['brand_domain']);
    expect(domains).toEqual(['acme.com', 'bit.ly', 'linkedin.com']);
  });

  it('is put on a queue without hosts that many share', async () => {
    const folder = openListOf(['acme.com', 'https://bit.ly/3abc']);
    const ended = await runHere(['add', 'list.csv', '--dry-run'], { cwd: folder.path });
    expect(ended.stderr).toContain("Row 2 has no domain (shared_host): 'https://bit.ly/3abc'\n");
  });
});
