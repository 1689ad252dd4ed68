import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { enrichHere, runHere } from './support/program.ts';
import { expectRefusal, expectUntouched } from './support/refusals.ts';
import { domains, listOf } from './support/tables.ts';

const api = await startSandbox();
afterAll(() => api.close());

const utf16 = (text: string, isBig = false): Buffer => {
  const bytes = Buffer.from(text, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};
const GZIP = gzipSync(listOf(domains(2_000)));

describe('an input that cannot be used', () => {
  it.each<[string, string, string | Buffer, RegExp]>([
    ['an empty file', 'list.csv', '', /list\.csv.*empty/],
    ['an empty JSONL file', 'list.jsonl', '\n', /list\.jsonl.*empty/],
    ['no header', 'list.csv', 'acme.com,1\nbolt.com,2\n', /list\.csv.*no header/],
    ['no column with domains', 'list.csv', 'a,b\n1,2\n', /list\.csv.*--domain-column.*a, b/],
    [
      'a quote that is never closed',
      'list.csv',
      'domain,note\nacme.com,ok\nbolt.com,"oh\ncore.com,x\n',
      /line 3 of list\.csv.*never closed/,
    ],
    [
      'a line that is no JSON',
      'list.jsonl',
      '{"domain":"acme.com"}\n\n{"domain":\n',
      /line 3 of list\.jsonl.*JSON/,
    ],
    ['a whole JSON array', 'list.json', '[{"domain":"acme.com"}]', /list\.json.*JSON array/],
    [
      'UTF-16 that ends within a character',
      'list.csv',
      utf16('\uFEFFdomain\nacme.com\n').subarray(0, -1),
      /line 2 of list\.csv: its character 9 is none in UTF-16 LE/,
    ],
    [
      'UTF-8 that turns into something else',
      'list.csv',
      Buffer.concat([Buffer.from('domain,name\nä.com,1\n'), Buffer.from('b.com,Bö', 'latin1')]),
      /line 3 of list\.csv: its character 8 \(byte 0xF6\) is not UTF-8.*--encoding/,
    ],
    [
      'a picture',
      'list.csv',
      Buffer.from('89504e470d0a1a0a0000000d4948445200000010ff', 'hex'),
      /list\.csv: it is no text/,
    ],
    [
      'a web page, as a login leaves it',
      'list.csv',
      '<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n',
      /Cannot read list\.csv: it is a web page \(HTML\)/,
    ],
    ['a gzip cut short', 'list.csv.gz', GZIP.subarray(0, GZIP.length - 9), /list\.csv\.gz.*gzip/],
    ['a gzip with a wrong byte', 'list.csv.gz', flipped(GZIP), /list\.csv\.gz/],
    [
      'a workbook in gzip',
      'list.xlsx.gz',
      gzipSync('PK\u0003\u0004rest'),
      /list\.xlsx\.gz: behind gzip it is a workbook or another ZIP archive; unpack it/,
    ],
    [
      'a gzip in a gzip',
      'list.csv.gz',
      gzipSync(GZIP),
      /behind gzip it is compressed with gzip once more; unpack it/,
    ],
    ['a broken workbook', 'list.xlsx', 'PK\u0003\u0004rest', /list\.xlsx.*damaged, or no workbook/],
    ['bzip2', 'list.csv.bz2', 'BZh91AY', /list\.csv\.bz2.*bzip2/],
    [
      'a column whose name speaks against it',
      'list.csv',
      'name,Logo URL\nAcme,https://acme.com/l.png\nBolt,https://bolt.com/l.png\n',
      /the best is 'Logo URL' \(such as 'https:\/\/acme\.com\/l\.png'\), whose name speaks against it; name it/,
    ],
    [
      'a first line that may be either',
      'list.csv',
      'name,Booking.com\nAcme,https://booking.com/hotel/acme\nBolt,https://booking.com/hotel/bolt\n',
      /its first line may be no header but a row .*; if it is the header, name the column with --domain-column/,
    ],
    [
      'links into one site',
      'list.csv',
      'name,LinkedIn URL\nA,linkedin.com/company/a\nB,linkedin.com/company/b\nC,linkedin.com/company/c\n',
      /the cells of 'LinkedIn URL' lead into one site \('linkedin\.com\/company\/a'\)/,
    ],
    [
      'rows of names without quotes',
      'list.csv',
      'name,website\na,Acme,acme.com\nb,Bolt,bolt.com\n',
      /0 of 2 cells of 'website' hold a domain, such as acme\.com, and 'Acme' is none \(single_label\); each row has one cell more than the header/,
    ],
    [
      'a table of R with spaces',
      'list.txt',
      '"name" "website"\n"1" "Acme" "acme.com"\n',
      /Cannot read list\.txt: its cells are in quotes and separated by spaces.*write\.csv/,
    ],
    [
      'what Git keeps for a large file',
      'list.csv',
      'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n',
      /Cannot read list\.csv: it is what Git keeps in place of a large file; .*git lfs pull/,
    ],
    [
      'nothing but delimiters',
      'list.csv',
      ';;;\n;;;\n',
      /it begins with nothing but delimiters; expected/,
    ],
  ])('ends with 2 and one sentence: %s', async (_, name, content, expected) => {
    const folder = openFolder();
    folder.write(name, content);
    folder.write('out.csv', 'earlier');
    const out = name.includes('jsonl') ? [] : ['--out', 'out.csv'];
    const args = ['enrich', name, '--base-url', api.url, ...out];
    const ended = await runHere(args, { cwd: folder.path });
    expectRefusal(ended, expected);
    expectUntouched(folder, [name, 'out.csv']);
  });

  it('is one that is not there, or a folder', async () => {
    const folder = openFolder();
    mkdirSync(folder.at('folder.csv'));
    const enrich = (name: string) =>
      runHere(['enrich', name, '--base-url', api.url], { cwd: folder.path });
    expectRefusal(await enrich('none.csv'), /none\.csv.*no such file/);
    expectRefusal(await enrich('folder.csv'), /folder\.csv.*folder/);
    expectRefusal(await enrich('folder.csv/x.csv'), /folder/);
  });

  it('is one without the column that was named', async () => {
    const folder = openList('name,domain\nA,acme.com\n');
    const enrich = (column: string) => enrichHere(folder, api.url, '--domain-column', column);
    expectRefusal(await enrich('website'), /'website'.*list\.csv.*name, domain/);
  });

  it('is one of objects none of which has the member that was named', async () => {
    const folder = openFolder();
    folder.write('list.jsonl', '{"name":"A","domain":"acme.com"}\n{"name":"B"}\n');
    folder.write('out.jsonl', 'earlier');
    const flags = ['list.jsonl', '--domain-column', 'website'];
    const missing = /Cannot find the column 'website' in list\.jsonl.*name, domain/;
    const enrich = ['enrich', ...flags, '--base-url', api.url, '--out', 'out.jsonl'];
    expectRefusal(await runHere(enrich, { cwd: folder.path }), missing);
    expectRefusal(await runHere(['add', ...flags, '--dry-run'], { cwd: folder.path }), missing);
    expectUntouched(folder, ['list.jsonl', 'out.jsonl']);
    expect(folder.read('out.jsonl')).toBe('earlier');
  });

  it('is one that may not be read', async (test) => {
    if (userInfo().uid === 0) return test.skip('root may read everything');
    const folder = openList(2);
    execFileSync('chmod', ['000', folder.at('list.csv')]);
    const ended = await enrichHere(folder, api.url);
    expectRefusal(ended, /list\.csv.*permission denied/);
  });
});

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const middle = copy.length >> 1;
  copy[middle] = (copy[middle] ?? 0) ^ 0xff;
  return copy;
}
