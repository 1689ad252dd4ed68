import { gzipSync } from 'node:zlib';
import { encode } from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { run } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder, withoutTimes } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { expectRefusal } from './support/refusals.ts';
import { objectsOf } from './support/tables.ts';

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
    const folder = openFolder();
    folder.write('list.csv', encode(list, encoding, { addBOM: false }));
    const api = await openScripted({});
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url], {
      cwd: folder.path,
    });
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

  it('may be JSONL', async () => {
    const folder = openFolder();
    folder.write('list.jsonl', encode('{"domain":"acme.com","n":"Müller"}\n', 'utf-16', {}));
    const api = await openScripted({});
    await enrichIn(folder, { input: 'list.jsonl', baseUrl: api.url });
    expect(objectsOf(folder.read('list.enriched.jsonl'))).toMatchObject([
      { n: 'Müller', brand_name: 'Acme' },
    ]);
  });

  it('may show it only deep in the file', async () => {
    const folder = openFolder();
    const rows = `acme.com,${'x'.repeat(60)}\n`.repeat(9_000);
    folder.write('list.csv', encode(`domain,name\n${rows}bolt.com,Café\n`, 'latin1'));
    const api = await openScripted({});
    await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    expect(folder.read('list.enriched.csv')).toMatch(
      /\nbolt\.com,Café,bolt\.com,found,<time>,Bolt\n$/,
    );
  });

  it('is read as --encoding says', async () => {
    const folder = openFolder();
    folder.write('list.csv', encode('domain,name\nacme.com,Łódź\n', 'iso-8859-2'));
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--encoding'];
    const ended = await runHere([...args, 'ISO8859-2'], { cwd: folder.path });
    expect(ended.stderr).toContain('list.csv is CSV, ISO-8859-2; domains');
    expect(folder.read('list.enriched.csv')).toContain(
      'acme.com,Łódź,acme.com,found,<time>,Acme\n',
    );
  });

  it('is doubted when it is UTF-8, and --encoding says something else', async () => {
    const folder = openFolder();
    folder.write('list.csv', 'domain,name\nmüller.de,Größe\n');
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--encoding', 'latin1'];
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.stderr).toMatch(/list\.csv .*valid UTF-8.* Latin-1.* --encoding .*'mÃ¼ller\.de'/);
  });

  it('is refused when it is not as --encoding says, or when there is no such encoding', async () => {
    const folder = openFolder();
    folder.write('list.csv', encode('domain,name\nacme.com,Größe\n', 'latin1'));
    const args = ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9', '--encoding'];
    const enrich = (name: string) => runHere([...args, name], { cwd: folder.path });
    expectRefusal(await enrich('utf-8'), /line 2 of list\.csv: its character 12 \(byte 0xF6\)/);
    expectRefusal(await enrich('windows-1522'), /--encoding.*did you mean windows-1252\?/);
    expectRefusal(await enrich('klingon'), /--encoding.*'klingon'; such as utf-8/);
    folder.write('list.csv', `${MARK}domain\nacme.com\n`);
    expectRefusal(await enrich('latin1'), /list\.csv as Latin-1: .*mark of UTF-8/);
  });
});
