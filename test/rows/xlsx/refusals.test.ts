import { describe, expect, it } from 'vitest';
import { open, partsOf, row, workbookOf, zipOf } from './workbooks.ts';

const SHEETS = [{ name: 'S', rows: row(1, 'domain') + row(2, 'acme.com') }];

async function refusalOf(bytes: Buffer, name?: string): Promise<string> {
  const error = await open(bytes, name === undefined ? {} : { name }).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toMatchObject({ name: 'BrandfillError', code: 'UNREADABLE_INPUT' });
  return (error as Error).message;
}

describe('a damaged workbook', () => {
  it('is refused, however much of it is there', async () => {
    const bytes = await workbookOf({ sheets: SHEETS, strings: '<si><t>a</t></si>' });
    for (const share of [0.2, 0.5, 0.9, 0.99]) {
      const part = bytes.subarray(0, bytes.length * share);
      expect(await refusalOf(part)).toMatch(/damaged, or no workbook/);
    }
  });

  it('never ends in anything but a sentence', async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const bytes = await workbookOf({ sheets: SHEETS, strings: '<si><t>a</t></si>' });
      for (let at = 30 + seed * 13; at < bytes.length; at += 97 * seed)
        bytes[at] = 255 - (bytes[at] ?? 0);
      await open(bytes).catch((error: unknown) => {
        expect(error).toMatchObject({ name: 'BrandfillError' });
      });
    }
  });

  const sheet = 'xl/worksheets/sheet1.xml';
  const rows = (xml: string): string => `<worksheet><sheetData>${xml}</sheetData></worksheet>`;
  it.each<[string, string, string | Buffer]>([
    ['no workbook', 'xl/workbook.xml', ''],
    ['no sheets', 'xl/workbook.xml', '<workbook><sheets/></workbook>'],
    ['a sheet that is no XML', sheet, '<worksheet><sheetData><row>'],
    ['a text that is not there', sheet, rows('<row><c t="s"><v>7</v></c></row>')],
    ['a row far down', sheet, rows('<row r="99999999"/>')],
    ['a cell far out', sheet, rows('<row r="1"><c r="ZZZZ1"/></row>')],
    ['bytes that are no text', sheet, Buffer.from([0x3c, 0x61, 0xff, 0xfe])],
    ['depth', sheet, `<worksheet>${'<a>'.repeat(3_000)}`],
    ['depth beside the list', 'xl/styles.xml', `<styleSheet>${'<a>'.repeat(3_000_000)}`],
    [
      'columns',
      sheet,
      `<worksheet>${'<cols><col min="1" max="9" style="1"/></cols>'.repeat(20_000)}`,
    ],
  ])('is refused for %s', async (_, path, content) => {
    const bytes = await zipOf({ ...partsOf({ sheets: SHEETS }), [path]: content });
    const expected = /it is damaged, or no workbook \(.*save it again as XLSX\.$/s;
    expect(await refusalOf(bytes)).toMatch(expected);
  });
});

it('ten thousand sheets with as many references are told apart at once, and no more are', async () => {
  const manyOf = (count: number) => {
    const each = (text: (at: number) => string): string =>
      Array.from({ length: count }, (_, at) => text(at)).join('');
    const parts = partsOf({ sheets: SHEETS });
    const more = (path: string, end: string, xml: string): [string, string] => [
      path,
      String(parts[path]).replace(end, xml + end),
    ];
    return zipOf({
      ...parts,
      ...Object.fromEntries([
        more(
          'xl/workbook.xml',
          '</sheets>',
          each((at) => `<sheet name="S${at}" r:id="x${at}"/>`),
        ),
        more(
          'xl/_rels/workbook.xml.rels',
          '</Relationships>',
          each((at) => `<Relationship Id="x${at}" Type="worksheet" Target="none.xml"/>`),
        ),
      ]),
    });
  };
  expect((await open(await manyOf(9_999))).rows).toEqual([{ domain: 'acme.com' }]);
  expect(await refusalOf(await manyOf(10_000))).toMatch(/too large \(more than 10000 sheets\)/);
});

describe('a ZIP bomb', () => {
  it('is refused by what it says of itself, before it is decompressed', async () => {
    const sheet = Buffer.alloc(33_000_000, ' ');
    const bytes = await zipOf({
      ...partsOf({ sheets: SHEETS }),
      'xl/worksheets/sheet1.xml': sheet,
    });
    expect(bytes.length).toBeLessThan(200_000);
    expect(await refusalOf(bytes)).toMatch(
      /too large \(10\d\d times as large as it is, as in a ZIP bomb\); save .* as CSV/,
    );
  });

  it('is refused if it is in many parts', async () => {
    const parts = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`xl/media/${at}.bin`, Buffer.alloc(500_000)]),
    );
    const bytes = await zipOf({ ...partsOf({ sheets: SHEETS }), ...parts });
    expect(await refusalOf(bytes)).toMatch(/\d\d\d times as large as it is, as in a ZIP bomb/);
  });

  it('is found out when it lies about its size', async () => {
    const size = 2_000_000;
    const parts = partsOf({ sheets: SHEETS });
    const bytes = await zipOf({ ...parts, 'xl/worksheets/sheet1.xml': Buffer.alloc(size, ' ') });
    const told = Buffer.alloc(4);
    told.writeUInt32LE(size);
    const lie = Buffer.alloc(4);
    lie.writeUInt32LE(1_000);
    for (let at = bytes.indexOf(told); at !== -1; at = bytes.indexOf(told, at + 1))
      lie.copy(bytes, at);
    expect(await refusalOf(bytes)).toMatch(
      /damaged, or no workbook \(too many bytes in the stream/,
    );
  });
});

it.each([
  [
    'in front of it',
    (bytes: Buffer) => Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), bytes]),
  ],
  ['behind its end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('\r\n--end--\0\u0001')])],
])('a workbook with other bytes %s is refused in a sentence', async (where, change) => {
  const message = await refusalOf(change(await workbookOf({ sheets: SHEETS })));
  expect(message).toMatch(new RegExp(`other bytes ${where}.*and save it`));
  expect(message).not.toMatch(/\p{Cc}/u);
});

describe('what is no workbook of this kind', () => {
  const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
  it.each<[string, () => Promise<Buffer> | Buffer, RegExp]>([
    ['.xls', () => Buffer.concat([OLE, Buffer.alloc(600)]), /an old Excel workbook \(\.xls\)/],
    [
      '.ods',
      () =>
        zipOf({ mimetype: 'application/vnd.oasis.opendocument.spreadsheet', 'content.xml': '' }),
      /no XLSX workbook but another archive.*save it as XLSX/,
    ],
    [
      '.xlsb',
      () => zipOf({ 'xl/workbook.bin': 'x', '[Content_Types].xml': '' }),
      /no XLSX workbook but another archive \(\.xlsb/,
    ],
    [
      'MHTML of Excel',
      () => Buffer.from('MIME-Version: 1.0\r\nX-Document-Type: Workbook\r\n\r\n<html>'),
      /a web page \(HTML, MHTML or XML\), whatever its name says/,
    ],
    ['.zip', () => zipOf({ 'list.csv': 'domain\n' }), /another archive.*or unpack it/],
  ])('is told apart and how to save it is said: %s', async (_, bytes, expected) => {
    expect(await refusalOf(await bytes())).toMatch(expected);
  });

  it('is not taken for one of these because of a header that looks like it', async () => {
    const text = 'MIME;domain\na;acme.com\n';
    const { rows } = await open(Buffer.from(text), { name: 'list.csv', column: 'domain' });
    expect(rows).toHaveLength(1);
  });
});
