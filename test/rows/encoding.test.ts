import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findEncodingByName } from '../../src/rows/encoding.ts';
import { openList } from '../../src/rows/open-list.ts';
import { useTempFolder } from '../support/temp-folder.ts';

/** The text of a list as it is read, and its encoding. */
async function read(content: Buffer | string, encoding?: string): Promise<[string, string]> {
  const folder = useTempFolder();
  writeFileSync(join(folder, 'list.csv'), content);
  const { source, close } = await openList(join(folder, 'list.csv'), {
    prefix: 'brand_',
    spoolFolder: folder,
    signal: new AbortController().signal,
    encoding: encoding === undefined ? undefined : findEncodingByName(encoding),
  });
  onTestFinished(close);
  const chunks: Buffer[] = [];
  for await (const chunk of source.read()) chunks.push(chunk);
  const [label = ''] = source.encoding.split(' (', 1);
  return [label, Buffer.concat(chunks).toString()];
}

const WEST = 'domain,name\nmüller.de,Größe\ncafé.fr,Société Générale\n';
const MAC = iconv.encode('domain,name\na.de,Müller\nb.fr,Café Noir\n', 'macintosh');
const RUSSIAN = 'domain,name\nacme.ru,Открытое акционерное общество\nbolt.ru,Российская компания\n';
const JAPANESE =
  'domain,name\nacme.jp,株式会社アクメの日本支社\nbolt.jp,東京電力ホールディングス\n';
const POLISH =
  'domain,name\na.pl,Spółka z ograniczoną odpowiedzialnością\nb.pl,Łódź świeże źródło\n';

describe('the encoding of a list', () => {
  it.each<[string, string, string]>([
    ['UTF-8', 'utf8', WEST],
    ['Windows-1252', 'windows-1252', WEST],
    ['Windows-1252', 'windows-1252', 'domain,note\na.de,© 2024 – now\nb.de,–\n'],
    ['Windows-1250', 'windows-1250', POLISH],
    ['Windows-1250', 'windows-1250', 'name,web\nPlzeň Škoda,a.cz\nČedok,b.cz\n'],
    ['Windows-1254', 'windows-1254', 'name,web\nGüneş Yatırım,a.com.tr\nİstanbul,b.tr\n'],
    ['Windows-1257', 'windows-1257', 'name,web\nŠiauliai Žemė,a.lt\nĄžuolas,b.lt\n'],
    ['Windows-1251', 'windows-1251', RUSSIAN],
    ['SHIFT_JIS', 'shift_jis', JAPANESE],
    ['ISO-8859-2', 'iso-8859-2', 'name,web\nŁódź Spółka Śląsk,a.com\n'],
    ['UTF-16 LE', 'utf-16le', WEST],
    ['UTF-16 BE', 'utf-16be', JAPANESE],
  ])('is found: %s', async (label, codec, text) => {
    expect(await read(iconv.encode(text, codec, { addBOM: false }))).toEqual([label, text]);
  });

  it.each<[string, string, string]>([
    [
      'Windows-1252',
      'of several countries',
      'Città Società Ærø Brædstrup Hermès Español Müller Señor',
    ],
    ['Windows-1250', 'Czech', 'Škoda Plzeň Dům Železárny České Příbram Město Říčany'],
    ['Windows-1250', 'Hungarian', 'Győri Fűtő Magyarország Ügyvéd Műszaki Építő Kőműves'],
    ['Windows-1254', 'Turkish', 'Şişecam Türk Ülker Arçelik Doğuş Bankası Koç Eczacıbaşı'],
    ['Windows-1257', 'Latvian', 'Rīgas Ūdens Ķekava Būve Māja Zāle Šķiedra Ēka Ģimene'],
  ])('is told by the letters of its words: %s, %s', async (encoding, _, names) => {
    const text = names.replaceAll(/\S+ ?/g, (name) => `${name.trim()},acme.com\n`);
    expect(await read(iconv.encode(text, encoding))).toEqual([encoding, text]);
  });

  it('is what a byte order mark says, however often it stands there', async () => {
    expect(await read(`\uFEFF\uFEFF${WEST}`)).toEqual(['UTF-8', WEST]);
    expect(await read(Buffer.from(`\uFEFF${WEST}`, 'utf16le'))).toEqual(['UTF-16 LE', WEST]);
    const damaged = 'acme.com,Andr\uFFFD\n'; // by whoever wrote it
    expect(await read(Buffer.from(`\uFEFF${damaged}`, 'utf16le'))).toEqual(['UTF-16 LE', damaged]);
  });

  it('is UTF-8 with a few zeros, as a damaged disk leaves them', async () => {
    expect(await read('a,b\0\n1,\0\0\n')).toEqual(['UTF-8', 'a,b\0\n1,\0\0\n']);
  });

  it('is what was named, below a byte order mark too', async () => {
    const bytes = Buffer.from('\xef\xbb\xbfM\xfcller\n', 'latin1');
    expect(await read(bytes, 'windows-1252')).toEqual(['Windows-1252', 'Müller\n']);
    await expect(read(bytes)).rejects.toThrow(/line 1 is not UTF-8/);
    expect(await read(iconv.encode('Łódź', 'iso-8859-2'), 'ISO8859-2')).toEqual([
      'ISO8859-2',
      'Łódź',
    ]);
  });

  const latin = iconv.encode('acme.com,Société\n', 'latin1');
  const utf8 = Buffer.from('acme.com,Société\n');
  const plain = Buffer.from('acme.com,plain\n');
  it.each([
    ['first', [latin, plain, ...Array<Buffer>(9_000).fill(plain), utf8], 9_003],
    ['last', [utf8, utf8, plain, latin], 1],
    ['in a few lines', [...Array<Buffer>(300).fill(latin), utf8], 301],
  ])('is not guessed where lists were joined, other bytes %s', async (_, lines, line) => {
    await expect(read(Buffer.concat(lines))).rejects.toThrow(
      new RegExp(
        `Cannot read .*: line ${line} is in UTF-8 and line \\d+ is not, as where lists were`,
      ),
    );
  });

  it.each<[string, string]>([
    ['Cyrillic', 'Ромашка'],
    ['Greek', 'Πετρέλαια'],
    ['Hebrew', 'תנובה'],
    ['Arabic', 'شركة'],
    ['Thai', 'ธนาคาร'],
    ['Chinese', '海尔集团'],
    ['Polish', 'Żółw'],
    ['French', 'Société'],
  ])('is not guessed for one odd byte among letters of UTF-8: %s', async (_, word) => {
    const names = Array.from({ length: 40 }, (_, at) => `a${at}.com,${word}\n`).join('');
    for (const [before, line] of [
      ['', 1],
      [names, 41],
    ] as const) {
      const bytes = Buffer.from(`${before}b.com,${word} \0 ${word}\n${names}`);
      bytes[bytes.indexOf(0)] = 0xa0;
      await expect(read(bytes)).rejects.toThrow(
        new RegExp(
          `line ${line} is not UTF-8 \\(byte 0xA0, number \\d+ of the line, behind '${word}'\\)`,
        ),
      );
    }
  });

  it.each<[string, string]>([
    ['windows-1251', 'a.ru,Ромашка\nb.ru,Газпром\nc.ru,Яндекс\n'],
    ['iso-8859-7', 'a.gr,Ελληνικά Πετρέλαια\nb.gr,Τράπεζα Πειραιώς\n'],
    ['windows-874', 'a.th,ธนาคารกสิกรไทย\nb.th,การบินไทย\n'],
    ['gb18030', 'a.cn,海尔集团有限公司\nb.cn,小米科技有限公司\n'],
  ])(
    'is guessed from the names alone, not from the addresses between them: %s',
    async (codec, text) => {
      const [, found] = await read(iconv.encode(text, codec));
      expect(found).toBe(text);
    },
  );

  it.each<[string, Buffer, string | undefined, RegExp]>([
    [
      'a picture',
      Buffer.from('89504e470d0a1a0a0000000d4948445200000010ff', 'hex'),
      undefined,
      /it is no text/,
    ],
    ['letters of old systems', MAC, undefined, /neither UTF-8 nor Windows-1252/],
    [
      'letters of which nothing is a sign',
      iconv.encode('公司,網站\n台灣積體電路公司,a.com\n', 'big5'),
      undefined,
      /neither UTF-8 nor/,
    ],
    ['not what was named', iconv.encode(WEST, 'latin1'), 'utf-8', /line 2 is not UTF-8/],
    ['a mark of another', Buffer.from('\uFEFFa', 'utf16le'), 'latin1', /mark of UTF-16 LE; leave/],
    ['UTF-32', iconv.encode(WEST, 'utf-32le', { addBOM: true }), undefined, /it is UTF-32.*UTF-8/],
    ['UTF-32 BE', iconv.encode(WEST, 'utf-32be', { addBOM: true }), undefined, /it is UTF-32/],
  ])('is refused: %s', async (_, bytes, encoding, expected) => {
    await expect(read(bytes, encoding)).rejects.toThrow(expected);
  });
});
