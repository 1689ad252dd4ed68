import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { encode } from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { builtCommand } from './support/build.ts';
import { ENVIRONMENT, enrichHere, run } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import {
  column,
  domains,
  listOf,
  objectsOf,
  openFolder,
  openList,
  rowsOf,
  withoutTimes,
} from './support/folder.ts';
import { expectRefusal } from './support/refusals.ts';

const MARK = '\uFEFF';
const NAMES = ['brand_domain', 'brand_status', 'brand_fetched_at', 'brand_name'];

describe('a CSV file', () => {
  it('without a header is read with --no-header, and its outputs get one', async () => {
    const folder = openList('1;acme.com\r\n2;bolt.com;x\r\n');
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    expectRefusal(await enrichHere(folder, api.url), /no header.*or give --no-header/);
    expect((await enrichHere(folder, api.url, '--no-header')).code).toBe(0);
    expect(folder.read('list.enriched.csv')).toBe(
      `column_1;column_2;column_3;${NAMES.join(';')}\r\n` +
        '1;acme.com;;acme.com;found;<time>;Acme\r\n2;bolt.com;x;bolt.com;not_found;<time>;\r\n',
    );
  });

  it('below lines of a title keeps them, but for those that --skip-lines leaves out', async () => {
    const title = 'Accounts "report\r\n\r\n';
    const folder = openList(
      `${title}Name;Web\r\nAcme;acme.com\r\n\r\nBolt;n/a\r\n\r\nSource: us\r\n`,
    );
    const api = await openScripted({});
    const list = `Name;Web;${NAMES.join(';')}\r\nAcme;acme.com;acme.com;found;<time>;Acme\r\nBolt;n/a;;invalid;;\r\n`;
    const note = 'Source: us;;;;;\r\n';
    const { stderr } = await enrichHere(folder, api.url);
    expect(stderr).toMatch(/format {3}CSV, semicolon-separated, header in line 3\n/);
    expect(stderr).toMatch(/rows {5}2; 1 row below the list, from line 8, left as they are\n/);
    expect(folder.read('list.enriched.csv')).toBe(title + list + note);
    await enrichHere(folder, api.url, '--skip-lines', '2');
    expect(folder.read('list.enriched.csv')).toBe(list + note);
  });

  it('in another encoding gives outputs that Excel opens as it did the list', async () => {
    for (const encoding of ['windows-1252', 'utf-16le']) {
      const folder = openList(encode('domain;name\nacme.com;Größe\n', encoding, { addBOM: true }));
      const api = await openScripted({});
      const ended = await enrichHere(folder, api.url);
      expect(ended.stderr).toMatch(/format {3}CSV, semicolon-separated, \w+-\d+/);
      expect(folder.read('list.enriched.csv')).toBe(
        `${MARK}domain;name;${NAMES.join(';')}\nacme.com;Größe;acme.com;found;<time>;Acme\n`,
      );
    }
  });
});

describe('a list', () => {
  it.each(['csv', 'jsonl'])('in .%s.gz is read, and written as such', async (format) => {
    const folder = openFolder();
    const rows = domains(500).map((domain) => `{"domain":"${domain}"}\n`);
    const text = format === 'csv' ? listOf(domains(500)) : rows.join('');
    folder.write(`list.${format}.gz`, gzipSync(text));
    const api = await openScripted({});
    const { out } = await enrichIn(folder, { input: `list.${format}.gz`, baseUrl: api.url });
    expect(out).toBe(folder.at(`list.enriched.${format}.gz`));
    const written = gunzipSync(readFileSync(out)).toString();
    const found = format === 'csv' ? rowsOf(written) : objectsOf(written);
    expect(column(found, 'brand_domain')).toEqual(domains(500));
  });

  it('from standard input goes to standard output, compressed and in any encoding', async () => {
    const folder = openFolder();
    const api = await openScripted({});
    const ended = await run(['enrich', '-', '--base-url', api.url], {
      cwd: folder.path,
      stdin: gzipSync(encode('domain;n\nacme.com;Größe\n', 'windows-1252')),
    });
    expect(withoutTimes(ended.stdout)).toBe(
      `${MARK}domain;n;${NAMES.join(';')}\nacme.com;Größe;acme.com;found;<time>;Acme\n`,
    );
    expect(folder.names()).toEqual(['stdin.failures.csv']);
  });

  it('may come from what a shell calls its standard input, or another command', async () => {
    const folder = openList('domain\nacme.com\n');
    const { url } = await openScripted({});
    for (const line of [
      'cat list.csv | "$0" "$1" enrich /dev/stdin --base-url "$2"',
      '"$0" "$1" enrich <(cat list.csv) --base-url "$2"',
    ]) {
      const args = ['-c', line, process.execPath, builtCommand(), url];
      const options = { cwd: folder.path, env: ENVIRONMENT };
      const { stdout } = await promisify(execFile)('bash', args, options);
      expect(column(rowsOf(stdout), 'brand_name')).toEqual(['Acme']);
    }
  });
});
