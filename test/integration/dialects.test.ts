import { gzipSync } from 'node:zlib';
import { encode } from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { openApi, openScripted } from './support/api.ts';
import { run } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder, withoutTimes } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { enrichHere, runHere } from './support/program.ts';
import { expectRefusal } from './support/refusals.ts';
import { rowsOf } from './support/tables.ts';

const TEXT_OF_API = { name: `it's "A", B; C\\D` };

describe('a CSV file', () => {
  it.each([
    [
      'backslashes before quotes',
      'domain,note\nacme.com,"say \\"hi\\", or"\nbolt.com,"\\""\n',
      ['"it\'s \\"A\\", B; C\\\\D"', 'Bolt'],
    ],
    [
      'single quotes',
      "'domain';'note'\n'acme.com';'x; y'\n'bolt.com';'it''s'\n",
      [`'it''s "A", B; C\\D'`, 'Bolt'],
    ],
    [
      'no quotes at all',
      'domain\tnote\nacme.com\t"Big\nbolt.com\tx "y"\nacme.com\t"x" y\n',
      [`it's "A", B; C\\D`, 'Bolt', `it's "A", B; C\\D`],
    ],
    [
      'decimal commas',
      'domain;Umsatz\r\nacme.com;1.234,50\r\nbolt.com;"2,5"\r\n',
      ['"it\'s ""A"", B; C\\D"', 'Bolt'],
    ],
    [
      'sep=; in front',
      'sep=;\r\ndomain;a,b\r\nacme.com;1,2\r\nbolt.com;x\r\n',
      ['"it\'s ""A"", B; C\\D"', 'Bolt'],
    ],
    [
      'mixed line ends',
      'domain,n\nacme.com,1\r\nbolt.com,2\racme.com,3',
      ['"it\'s ""A"", B; C\\D"', 'Bolt', '"it\'s ""A"", B; C\\D"'],
    ],
    [
      'quotes within cells',
      'domain,size\nacme.com,5" pipe\nbolt.com,"6"" pipe"\n',
      ['"it\'s ""A"", B; C\\D"', 'Bolt'],
    ],
  ])('with %s keeps its rows, and gets cells like its own', async (_, text, names) => {
    const folder = openList(text);
    const api = await openScripted({ 'acme.com': { body: TEXT_OF_API } });
    await enrichIn(folder, { input: 'list.csv', baseUrl: api.url, fields: { name: 'name' } });
    const delimiter = /domain'?(.)/.exec(text)?.[1] ?? ',';
    let row = -1;
    const expected = text.replace(/([^\r\n]+)(\r\n|\r|\n|$)/g, (_, own: string, end: string) => {
      if (own.startsWith('sep')) return own + end;
      row += 1;
      const domain = /\w+\.com/.exec(own)?.[0] ?? '';
      const added =
        row === 0
          ? ['brand_domain', 'brand_status', 'brand_fetched_at', 'brand_name']
          : [domain, 'found', '<time>', names[row - 1] ?? ''];
      return [own, ...added].join(delimiter) + (end || '\n');
    });
    expect(folder.read('list.enriched.csv')).toBe(expected);
  });

  it('without a header is read with --no-header, and its outputs get one', async () => {
    const folder = openList('1;acme.com\r\n2;bolt.com;x\r\n');
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const args = ['enrich', 'list.csv', '--base-url', api.url];
    expectRefusal(await runHere(args, { cwd: folder.path }), /no header.*or give --no-header/);
    const ended = await runHere([...args, '--no-header'], { cwd: folder.path });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain(
      "domains are in column 'column_2' (guessed by content), such as 'acme.com'",
    );
    expect(ended.stderr).toContain(
      'named by position (column_1 to column_3), and the outputs get a header',
    );
    expect(folder.read('list.enriched.csv')).toBe(
      'column_1;column_2;column_3;brand_domain;brand_status;brand_fetched_at;brand_name\r\n' +
        '1;acme.com;;acme.com;found;<time>;Acme\r\n2;bolt.com;x;bolt.com;not_found;<time>;\r\n',
    );
    expect(rowsOf(folder.read('list.failures.csv'), ';')).toMatchObject([
      { column_1: '2', brand_row: '2', brand_reason: 'http_404' },
    ]);
  });

  it('below lines of a title is read with --skip-lines, and its outputs have no title', async () => {
    const folder = openFolder();
    const title = 'Accounts "report\r\n\r\n';
    folder.write('list.csv', `${title}Name;Web\r\nAcme;acme.com\r\n\r\nBolt;n/a\r\n`);
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url];
    expectRefusal(
      await runHere(args, { cwd: folder.path }),
      /there are: Accounts "report; if the header is in line 3, give --skip-lines 2\./,
    );
    const ended = await runHere([...args, '--skip-lines', '2'], { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(0);
    expect(folder.read('list.enriched.csv')).toBe(
      'Name;Web;brand_domain;brand_status;brand_fetched_at;brand_name\r\n' +
        'Acme;acme.com;acme.com;found;<time>;Acme\r\nBolt;n/a;;invalid;;\r\n',
    );
    expectRefusal(
      await runHere([...args, '--skip-lines', '7'], { cwd: folder.path }),
      /Cannot skip 7 lines of list\.csv: it has no more/,
    );
  });

  it('may have its column told by its place, unless one has that name', async () => {
    const folder = openFolder();
    const api = await openScripted({});
    const domainsOf = async (text: string, domainColumn: string): Promise<unknown[]> => {
      folder.write('list.csv', text);
      await enrichIn(folder, { input: 'list.csv', baseUrl: api.url, domainColumn });
      return rowsOf(folder.read('list.enriched.csv')).map((row) => row['brand_domain']);
    };
    expect(await domainsOf('a,b\nacme.com,bolt.com\n', '2')).toEqual(['bolt.com']);
    expect(await domainsOf('2,b\nacme.com,bolt.com\n', '2')).toEqual(['acme.com']);
    await expect(domainsOf('a,b\nacme.com,bolt.com\n', '3')).rejects.toThrow(
      /'3'.*there are: a, b/,
    );
    await expect(domainsOf('a,b\nacme.com,bolt.com\n', '0')).rejects.toThrow(/'0'/);
  });

  it('comes back with a byte order mark for --excel', async () => {
    const folder = openList('domain;Größe\nacme.com;1\nn/a;2\n');
    const api = await openScripted({});
    const ended = await enrichHere(folder, api.url, '--excel');
    expect(ended.code).toBe(0);
    expect(folder.read('list.enriched.csv')).toMatch(/^\uFEFFdomain;Größe;brand_domain;/);
    expect(folder.read('list.failures.csv')).toMatch(/^\uFEFFdomain;Größe;brand_row;/);
  });
});

describe('what is for CSV only', () => {
  it.each(['--excel', '--no-header', '--skip-lines=1'])(
    'is refused for JSONL: %s',
    async (flag) => {
      const folder = openFolder();
      folder.write('list.jsonl', '{"domain":"acme.com"}\n');
      const args = ['enrich', 'list.jsonl', '--base-url', 'http://127.0.0.1:9', flag];
      expectRefusal(
        await runHere(args, { cwd: folder.path }),
        new RegExp(`${flag.replace(/=.*/, '')} for list.jsonl.*JSONL`),
      );
    },
  );

  it.each(['--no-header', '--skip-lines=1'])('is refused along with --merge: %s', async (flag) => {
    const folder = openFolder();
    folder.write('list.failures.csv', 'domain\nacme.com\n');
    const args = ['enrich', 'list.failures.csv', '--merge', 'list.enriched.csv', flag];
    expectRefusal(
      await runHere([...args, '--base-url', 'http://127.0.0.1:9'], { cwd: folder.path }),
      /--(no-header|skip-lines) along with --merge/,
    );
  });
});

const LIST = 'Größe;Firma;domain\r\n1;Müller – “A”;acme.com\r\n2;Ç;bolt.com\r\n';
const ENRICHED =
  'Größe;Firma;domain;brand_domain;brand_status;brand_fetched_at;brand_name\r\n' +
  '1;Müller – “A”;acme.com;acme.com;found;<time>;Acme\r\n2;Ç;bolt.com;bolt.com;found;<time>;Bolt\r\n';
const MARK = '\uFEFF';

describe('a list in another encoding', () => {
  it.each([
    ['windows-1252', LIST, '', "Windows-1252 (such as 'Größe')"],
    ['utf-16le', MARK + LIST, MARK, 'UTF-16 LE'],
    ['utf-16be', MARK + LIST, MARK, 'UTF-16 BE'],
    ['utf-16le', LIST, '', 'UTF-16 LE'],
  ])('is read and said, and comes back in UTF-8: %s', async (encoding, list, mark, said) => {
    const folder = openList(encode(list, encoding, { addBOM: false }));
    const api = await openScripted({});
    const ended = await enrichHere(folder, api.url);
    expect(ended.stderr).toContain(`list.csv is CSV, semicolon-separated, ${said}; domains are in`);
    expect(ended.code).toBe(0);
    expect(folder.read('list.enriched.csv')).toBe(mark + ENRICHED);
  });

  it('may come compressed and from standard input', async () => {
    const folder = openFolder();
    const api = await openScripted({});
    const ended = await run(['enrich', '-', '--base-url', api.url], {
      cwd: folder.path,
      stdin: gzipSync(encode(LIST, 'windows-1252')),
    });
    expect(withoutTimes(ended.stdout)).toBe(ENRICHED);
  });

  it('is read as --encoding says', async () => {
    const folder = openList(encode('domain,name\nacme.com,Łódź\n', 'iso-8859-2'));
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--encoding'];
    const ended = await runHere([...args, 'ISO8859-2'], { cwd: folder.path });
    expect(ended.stderr).toContain('list.csv is CSV, ISO-8859-2; domains');
    expect(folder.read('list.enriched.csv')).toContain(
      'acme.com,Łódź,acme.com,found,<time>,Acme\n',
    );
  });

  it('is doubted when it is UTF-8, and --encoding says something else', async () => {
    const folder = openList('domain,name\nmüller.de,Größe\n');
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--encoding', 'latin1'];
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.stderr).toMatch(/list\.csv .*valid UTF-8.* Latin-1.* --encoding .*'mÃ¼ller\.de'/);
  });

  it('is refused when it is not as --encoding says, or when there is no such encoding', async () => {
    const folder = openList(encode('domain,name\nacme.com,Größe\n', 'latin1'));
    const args = ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9', '--encoding'];
    const enrich = (name: string) => runHere([...args, name], { cwd: folder.path });
    expectRefusal(await enrich('utf-8'), /line 2 of list\.csv: its character 12 \(byte 0xF6\)/);
    expectRefusal(await enrich('windows-1522'), /--encoding.*did you mean windows-1252\?/);
    expectRefusal(await enrich('klingon'), /--encoding.*'klingon'; such as utf-8/);
    folder.write('list.csv', `${MARK}domain\nacme.com\n`);
    expectRefusal(await enrich('latin1'), /list\.csv as Latin-1: .*mark of UTF-8/);
  });
});

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
    await enrichHere(folder, api.url);
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(rows.map((row) => row['Website'])).toEqual(cells);
    const reasons = new Map(
      rowsOf(folder.read('list.failures.csv')).map((row) => [row['id'], row['brand_reason']]),
    );
    const read = rows.map((row) => row['brand_domain'] || reasons.get(row['id']));
    expect(read).toEqual(CELLS.map(([, expected]) => expected));
  });
});
