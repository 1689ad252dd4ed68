import { encode } from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { findEncodingByName } from '../../../src/rows/encoding/encodings.ts';
import { type FoundEncoding, findEncoding } from '../../../src/rows/encoding/find-encoding.ts';
import { piecesOf } from '../sources.ts';

/** Finds the encoding of a list of which no more than `startBytes` are looked at first. */
async function find(
  bytes: Buffer,
  { startBytes = bytes.length, insisted }: { startBytes?: number; insisted?: string } = {},
): Promise<FoundEncoding> {
  return await findEncoding({
    name: 'list.csv',
    start: bytes.subarray(0, startBytes),
    isWhole: startBytes >= bytes.length,
    read: () => piecesOf(bytes, 64),
    insisted: insisted === undefined ? undefined : findEncodingByName(insisted),
  });
}

const GERMAN = 'domain;Firma\nacme.de;Müller & Söhne\nbolt.de;Größe\n';

describe('findEncoding', () => {
  it('shows words that are UTF-8 although another encoding was named', async () => {
    const late = Buffer.from(`domain;Firma\n${'acme.de;x\n'.repeat(50)}bolt.de;Größe\n`);
    for (const found of [
      await find(late, { insisted: 'windows-1252' }),
      await find(late, { insisted: 'windows-1252', startBytes: 30 }),
    ]) {
      expect(found).toMatchObject({ encoding: { label: 'Windows-1252' }, utf8Example: 'GrÃ¶ÃŸe' });
    }
    for (const [text, codec, insisted] of [
      [GERMAN, 'windows1252', 'windows-1252'],
      ['domain\nacme.de\n', 'utf8', 'windows-1252'],
      [GERMAN, 'utf8', 'utf-8'],
      [GERMAN, 'utf16le', 'utf-16'],
    ] as const) {
      const found = await find(encode(text, codec), { insisted });
      expect(found.utf8Example, `${codec} as ${insisted}`).toBeUndefined();
    }
  });

  it.each([
    ['UTF-8', 'utf8', 3],
    ['UTF-16 LE', 'utf16le', 2],
    ['UTF-16 BE', 'utf16be', 2],
    ['UTF-32 LE', 'utf32le', 4],
    ['UTF-32 BE', 'utf32be', 4],
  ])('believes the byte order mark of %s', async (label, codec, markBytes) => {
    const found = await find(encode(`\uFEFF${GERMAN}`, codec));
    expect(found).toMatchObject({ encoding: { label }, markBytes, by: 'mark' });
  });

  it.each([
    ['utf16le', 'UTF-16 LE', GERMAN],
    ['utf16be', 'UTF-16 BE', GERMAN],
    ['utf16le', 'UTF-16 LE', '会社,ドメイン\nトヨタ自動車,豊田\n日立,東京都\n'],
    ['utf16be', 'UTF-16 BE', '会社,ドメイン\nトヨタ自動車,豊田\n日立,東京都\n'],
    ['utf8', 'UTF-8', GERMAN],
    ['utf8', 'UTF-8', 'a,b,c\n\u0000,2,3\n'],
    ['utf8', 'UTF-8', 'domain\nacme.com\n'],
    ['windows1252', 'Windows-1252', 'name,price\nL’Oréal – “beauté”,5 €\n'],
    ['windows1252', 'Latin-1', GERMAN],
    ['windows1252', 'Latin-1', 'nombre,ciudad\nEspaña S.A.,Málaga\nPeñarol,Coruña\n'],
    ['windows1252', 'Latin-1', 'a,b,c\n4,5,©'],
    ['windows1252', 'Latin-1', 'domain;Größe\nacme.de;5\n'],
    ['windows1252', 'Latin-1', 'domain;Firma\nacme.de;Füße & Süß\n'],
    ['windows1252', 'Latin-1', 'domaine,secteur\nacme.fr,créée\n'],
    ['windows1250', 'Windows-1250', 'firma\nŁódź Spółka Akcyjna\nŻabka\nGdańsk\n'],
    ['windows1250', 'Windows-1250', 'firma\nPlzeňský Prazdroj\nDvořák\nŠkoda\nŽďár\n'],
    ['macintosh', 'Mac Roman', GERMAN],
    ['cp850', 'CP850', GERMAN],
    [
      'windows1251',
      'Windows-1251',
      'domain,name\na.ru,Газпром\nb.ru,Сбербанк России\nc.ru,Москва\n',
    ],
    ['koi8r', 'KOI8-R', 'domain,name\na.ru,Газпром\nb.ru,Сбербанк России\nc.ru,Москва\n'],
    ['shiftjis', 'Shift_JIS', 'domain,name\na.jp,株式会社日立製作所\nb.jp,トヨタ自動車\n'],
    ['gb18030', 'GB18030', 'domain,name\na.cn,中国工商银行\nb.cn,阿里巴巴集团\n'],
    ['euckr', 'EUC-KR', 'domain,name\na.kr,삼성전자 주식회사\nb.kr,현대자동차\n'],
  ])('tells %s by its content', async (codec, label, text) => {
    const found = await find(encode(text, codec));
    expect(found).toMatchObject({ encoding: { label }, markBytes: 0, by: 'content' });
  });

  it('shows words that tell whether the guess is right', async () => {
    expect((await find(encode(GERMAN, 'latin1'))).example).toBe('Müller & Söhne');
    expect((await find(encode(GERMAN, 'utf8'))).example).toBeUndefined();
  });

  it('looks for the first character that is not plain ASCII, however late it comes', async () => {
    const rows = 'acme.com,plain\n'.repeat(1_000);
    const late = encode(`domain,name\n${rows}bolt.de,Müller\n`, 'latin1');
    expect(await find(late, { startBytes: 200 })).toMatchObject({ encoding: { label: 'Latin-1' } });
    const utf8 = Buffer.from(`domain,name\n${rows}bolt.de,Müller\n`);
    expect(await find(utf8, { startBytes: 200 })).toMatchObject({ encoding: { label: 'UTF-8' } });
  });

  it('takes the encoding that was named, and says so when a mark contradicts it', async () => {
    const latin = encode(GERMAN, 'latin1');
    expect(await find(latin, { insisted: 'cp1252' })).toMatchObject({ by: 'option', markBytes: 0 });
    const marked = Buffer.from(`\uFEFF${GERMAN}`);
    expect(await find(marked, { insisted: 'utf8' })).toMatchObject({ by: 'option', markBytes: 3 });
    await expect(find(marked, { insisted: 'latin1' })).rejects.toThrow(
      /list\.csv as Latin-1.*mark of UTF-8/,
    );
  });

  it.each([
    ['utf16be', 'UTF-16 BE'],
    ['utf16le', 'UTF-16 LE'],
  ])('tells the byte order of UTF-16 itself: %s', async (codec, label) => {
    for (const mark of ['', '\uFEFF']) {
      const found = await find(encode(mark + GERMAN, codec), { insisted: 'utf-16' });
      expect(found).toMatchObject({ encoding: { label }, markBytes: mark === '' ? 0 : 2 });
    }
  });

  it('refuses what is no text', async () => {
    const png = Buffer.from(
      '89504e470d0a1a0a0000000d49484452000000100000001008060000001ff3ff61',
      'hex',
    );
    await expect(find(png)).rejects.toThrow(/list\.csv: it is no text/);
  });

  it('names the place of a byte that is in no encoding', async () => {
    const bytes = Buffer.concat([
      encode('domain,name\nä.de,Größe\nb.de,x', 'latin1'),
      Buffer.from([0x81]),
    ]);
    await expect(find(bytes)).rejects.toThrow(/line 3 of list\.csv: its character 7 is neither/);
  });

  it('names the place where UTF-8 ends in something else', async () => {
    const bytes = Buffer.concat([
      Buffer.from('domain,name\na.de,äöü\nb.de,x'),
      Buffer.from([0xe4, 0x0a]),
    ]);
    await expect(find(bytes)).rejects.toThrow(
      /line 3 of list\.csv: its character 7 \(byte 0xE4\) is not UTF-8, although all before it is/,
    );
  });

  it('does not take a list in UTF-8 for another encoding because of one row', async () => {
    const rows = 'a.ch,Zürich Größe\n'.repeat(50);
    const bytes = Buffer.concat([
      Buffer.from(`domain,city\n${rows}`),
      encode('b.de,Köln', 'latin1'),
    ]);
    await expect(find(bytes)).rejects.toThrow(
      /line 52 of list\.csv: its character 7 \(byte 0xF6\) is not UTF-8/,
    );
  });

  it('tells Japanese that looks like UTF-8 in part', async () => {
    const found = await find(
      encode('社名,注\nトヨタ,のとになはどのとに\nニトリ,にはとの\n', 'eucjp'),
    );
    expect(found).toMatchObject({ encoding: { label: 'EUC-JP' } });
  });
});

describe('findEncodingByName', () => {
  it.each([
    ['utf8', 'UTF-8'],
    ['UTF-16', 'UTF-16'],
    ['cp1252', 'Windows-1252'],
    ['WINDOWS_1252', 'Windows-1252'],
    ['latin1', 'Latin-1'],
    ['ISO-8859-1', 'Latin-1'],
    ['iso8859-15', 'ISO-8859-15'],
    ['Shift_JIS', 'Shift_JIS'],
    ['sjis', 'SJIS'],
    ['windows-1251', 'Windows-1251'],
    ['macintosh', 'Mac Roman'],
  ])('knows %s', (name, label) => {
    expect(findEncodingByName(name)?.label).toBe(label);
  });

  it.each(['', 'utf-9', 'base64', 'hex', 'klingon'])('does not know %j', (name) => {
    expect(findEncodingByName(name)).toBeUndefined();
  });
});
