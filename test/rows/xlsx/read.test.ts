import { describe, expect, it } from 'vitest';
import { guessDomainColumn } from '../../../src/rows/columns/domain-column.ts';
import { open, rewrite, row, type WorkbookSpec, workbookOf } from './workbooks.ts';

const LIST = row(1, 'name', 'domain') + row(2, 'Acme', 'acme.com') + row(3, 'Globex', 'globex.com');
const STYLES =
  '<numFmts><numFmt numFmtId="164" formatCode="00000"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/><numFmt numFmtId="166" formatCode="[h]:mm"/><numFmt numFmtId="167" formatCode="#,##0.00&quot; days&quot;"/></numFmts>' +
  `<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${[0, 14, 165, 164, 166, 167, 20]
    .map((id) => `<xf numFmtId="${id}"/>`)
    .join('')}</cellXfs>`;

describe('cells of a workbook', () => {
  it('come as what they are', async () => {
    const cells =
      '<c r="A2"><v>4.3499999999999996</v></c>' +
      '<c r="B2" s="1"><v>45352</v></c>' +
      '<c r="C2" s="2"><v>45352.395833333336</v></c>' +
      '<c r="D2" s="3"><v>1234</v></c>' +
      '<c r="E2" s="4"><v>1.5</v></c>' +
      '<c r="F2" s="5"><v>12</v></c>' +
      '<c r="G2" s="6"><v>0.75</v></c>' +
      '<c r="H2" t="b"><v>1</v></c>' +
      '<c r="I2" t="e"><v>#N/A</v></c>' +
      '<c r="J2" t="str"><f>A1&amp;B1</f><v>sum</v></c>' +
      '<c r="K2"><f>6*7</f><v>42</v></c>' +
      '<c r="L2" t="inlineStr"><is><t>007</t></is></c>' +
      '<c r="M2" t="d"><v>2024-03-01T09:30:00</v></c>' +
      '<c r="N2"><v>1E-7</v></c>';
    const header = row(1, ...Array.from('abcdefghijklmn'));
    const { rows } = await open(
      await workbookOf({
        sheets: [{ name: 'S', rows: `${header}<row r="2">${cells}</row>` }],
        styles: STYLES,
      }),
    );
    expect(rows).toEqual([
      {
        a: 4.35,
        b: '2024-03-01',
        c: '2024-03-01T09:30:00',
        d: '01234',
        e: 1.5,
        f: 12,
        g: 0.75,
        h: true,
        i: '#N/A',
        j: 'sum',
        k: 42,
        l: '007',
        m: '2024-03-01T09:30:00',
        n: 1e-7,
      },
    ]);
  });

  it('have all digits of a whole number, which JavaScript may not hold', async () => {
    const numbers = ['9007199254740993', '-12345678901234567', '9007199254740992', '1.5E+300'];
    const cells = numbers.map((text, at) => `<c r="${'ABCD'[at]}2"><v>${text}</v></c>`).join('');
    const rows = `${row(1, 'a', 'b', 'c', 'd')}<row r="2">${cells}</row>`;
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows }] }));
    expect(opened.rows).toEqual([
      { a: '9007199254740993', b: '-12345678901234567', c: '9007199254740992', d: 1.5e300 },
    ]);
    const raw = opened.scanned[0]?.raw ?? '';
    expect(opened.format.cellOf(raw, { index: 3, name: 'd' })).toBe('1.5e+300');
  });

  it('have their texts in the table of texts, in runs, without how they are pronounced', async () => {
    const strings =
      '<si><t>domain</t></si><si><r><t>ac</t></r><r><rPr><b/></rPr><t>me.com</t></r><rPh sb="0" eb="1"><t>AC</t></rPh></si><si><t xml:space="preserve"> a_x0009_b_x005F_x0009_ </t></si>';
    const rows =
      '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><r><t>no</t></r><r><t>te</t></r></is></c></row>' +
      '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="s"><v>2</v></c></row>';
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows }], strings }));
    expect(opened.rows).toEqual([{ domain: 'acme.com', note: ' a\tb_x0009_ ' }]);
  });

  it.each([
    ['0', '2024-03-01'],
    ['1', '2028-03-02'],
  ])('count their days by the calendar of the workbook (date1904="%s")', async (flag, date) => {
    const spec = {
      before: `<workbookPr date1904="${flag}"/>`,
      // Excel writes an element of the same name behind the sheets.
      behind:
        '<extLst><ext><x15:workbookPr xmlns:x15="x" chartTrackingRefBase="1"/></ext></extLst>',
      sheets: [
        {
          name: 'S',
          rows: `${row(1, 'a', 'b')}<row r="2"><c r="A2" s="1"><v>45352</v></c><c r="B2" s="1"><v>45352</v></c></row>`,
        },
      ],
      styles: STYLES,
    };
    expect((await open(await workbookOf(spec))).rows).toEqual([{ a: date, b: date }]);
  });

  it('are in their places, whether or not they say so, and whatever elements are called', async () => {
    const rows =
      '<x:row><x:c t="inlineStr"><x:is><x:t>name</x:t></x:is></x:c><x:c t="inlineStr"><x:is><x:t>domain</x:t></x:is></x:c></x:row>' +
      '<x:row><x:c/><x:c t="inlineStr"><x:is><x:t><![CDATA[a<b.com]]></x:t></x:is></x:c></x:row>';
    const xml = `<?xml version="1.0"?><x:worksheet xmlns:x="m"><x:sheetData>${rows}</x:sheetData></x:worksheet>`;
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows: '', xml }] }));
    expect(opened.rows).toEqual([{ name: null, domain: 'a<b.com' }]);
  });

  it.each([
    ['utf-16le', Buffer.from([0xff, 0xfe])],
    ['utf16be', Buffer.from([0xfe, 0xff])],
  ])('are read from a sheet in %s', async (encoding, mark) => {
    const xml = `<?xml version="1.0" encoding="UTF-16"?><worksheet><sheetData>${row(1, 'domain', 'ö')}${row(2, 'acme.com', '\u{1f600}')}</sheetData></worksheet>`;
    const bytes = Buffer.from(xml, 'utf16le');
    const sheet = Buffer.concat([mark, encoding === 'utf16be' ? bytes.swap16() : bytes]);
    const parts = { 'xl/worksheets/sheet1.xml': sheet };
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows: '' }], parts }));
    expect(opened.rows).toEqual([{ domain: 'acme.com', ö: '\u{1f600}' }]);
    const written = await rewrite(opened, ['x'], () => [1]);
    expect(written.parts['xl/worksheets/sheet1.xml']).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>.*<v>1<\/v>/s,
    );
  });

  it('are read from a strict workbook', async () => {
    const strict = 'http://purl.oclc.org/ooxml';
    const spec = {
      sheets: [{ name: 'S', rows: LIST }],
      main: `${strict}/spreadsheetml/main`,
      relations: `${strict}/officeDocument/relationships`,
    };
    expect((await open(await workbookOf(spec))).rows).toHaveLength(2);
  });
});

describe('hyperlinks', () => {
  it('are read as their targets where rows are looked up, elsewhere as what is shown', async () => {
    const rows =
      row(1, 'company', 'website') +
      row(2, 'Acme', 'see here') +
      row(3, 'Globex', 'ours') +
      '<row r="4"><c r="A4" t="inlineStr"><is><t>Initech</t></is></c><c r="B4" t="str"><f>HYPERLINK("https://initech.com/","Initech")</f><v>Initech</v></c></row>' +
      row(5, 'Hooli', 'Plan');
    const after =
      '<hyperlinks><hyperlink ref="B2:B3" r:id="rId7" display="a &gt; b"/><hyperlink ref="A3" r:id="rId8"/><hyperlink ref="B5" location="Plan!A1"/></hyperlinks>';
    const links = { rId7: 'https://acme.com/a?b=1&amp;c', rId8: 'https://crm.example/3' };
    const bytes = await workbookOf({ sheets: [{ name: 'S', rows, after, links }] });
    const { scanned, format, rows: objects } = await open(bytes, { column: 'website' });
    expect(scanned.map(({ cell }) => cell)).toEqual([
      'https://acme.com/a?b=1&c',
      'https://acme.com/a?b=1&c',
      'https://initech.com/',
      'Plan',
    ]);
    expect(format.sampleRows[1]).toEqual(['https://crm.example/3', 'https://acme.com/a?b=1&c']);
    expect(objects[1]).toEqual({ company: 'Globex', website: 'https://acme.com/a?b=1&c' });
  });

  it('show no names of columns', async () => {
    const rows = row(1, 'firm', 'go') + row(2, 'Acme', 'website') + row(3, 'Bolt', 'website');
    const after = '<hyperlinks><hyperlink ref="B2:B3" r:id="rId1"/></hyperlinks>';
    const bytes = await workbookOf({
      sheets: [{ name: 'S', rows, after, links: { rId1: 'https://acme.com' } }],
    });
    expect((await open(bytes, { column: 'go' })).rows).toHaveLength(2);
  });

  it('do not count where the shown text is a domain itself: Excel keeps a link when its text is overwritten', async () => {
    const rows =
      row(1, 'company', 'website') +
      row(2, 'Acme', 'acme-new.com') +
      row(3, 'Globex', 'www.globex.com/about') +
      row(4, 'Initech', 'website');
    const after =
      '<hyperlinks><hyperlink ref="B2" r:id="rId1"/><hyperlink ref="B3" r:id="rId2"/><hyperlink ref="B4" r:id="rId1"/></hyperlinks>';
    const links = {
      rId1: 'https://acme-old.com/',
      rId2: 'https://eur01.safelinks.example/?url=https%3A%2F%2Fwww.globex.com',
    };
    const bytes = await workbookOf({ sheets: [{ name: 'S', rows, after, links }] });
    const { scanned, rows: objects } = await open(bytes, { column: 'website' });
    const read = ['acme-new.com', 'www.globex.com/about', 'https://acme-old.com/'];
    expect(scanned.map(({ cell }) => cell)).toEqual(read);
    expect(objects.map(({ website }) => website)).toEqual(read);
  });

  it('of formulas are read before anybody has calculated them', async () => {
    const formulas = [
      'HYPERLINK("https://acme.com/","Say ""Acme""")',
      'HYPERLINK("https://globex.com/")',
      'HYPERLINK("https://initech.com/",B1&amp;B2)',
    ];
    const cells = formulas.map((formula, at) => {
      const number = at + 2;
      return `<row r="${number}"><c r="A${number}"><v>${number}</v></c><c r="B${number}"><f>${formula}</f><v/></c></row>`;
    });
    const rows = row(1, 'n', 'website') + cells.join('');
    const bytes = await workbookOf({ sheets: [{ name: 'S', rows }] });
    const looked = await open(bytes, { column: 'website' });
    const targets = ['https://acme.com/', 'https://globex.com/', 'https://initech.com/'];
    expect(looked.scanned.map(({ cell }) => cell)).toEqual(targets);
    const shown = await open(bytes, { column: 'n' });
    expect(shown.rows[0]).toEqual({ n: 2, website: 'Say "Acme"' });
    expect(shown.rows[1]).toEqual({ n: 3, website: 'https://globex.com/' });
  });
});

describe('the list in a workbook', () => {
  it.each([
    ['in the first row', LIST, 1, 2],
    [
      'below a title, a date and an empty row',
      row(1, 'Accounts') +
        row(2, 'as of', 45352) +
        row(4, 'name', 'domain') +
        row(5, 'Acme', 'acme.com') +
        row(6, 'Globex', 'globex.com'),
      4,
      2,
    ],
    [
      'above a row that holds a word for websites',
      row(1, 'account', 'source') + row(2, 'Acme', 'web') + row(3, 'initech.com', 'web'),
      1,
      2,
    ],
    [
      'below groups of columns',
      row(1, null, null, 'address') +
        row(2, 'name', 'domain', 'city', 'zip') +
        row(3, 'Acme', 'acme.com', 'Oslo', 1),
      2,
      1,
    ],
    ['of one column', row(2, 'My list') + row(3, 'sites') + row(4, 'acme.com'), 3, 1],
    ['without rows', row(1, 'domain', 'name'), 1, 0],
    [
      'above many rows without any',
      row(1, 'Firma', 'Webseite', 'Ort') +
        Array.from({ length: 70 }, (_, at) => row(at + 2, `F ${at}`)).join('') +
        row(80, 'F', 'folgt', 'Ulm') +
        row(81, 'F', 'acme.com', 'Ulm'),
      1,
      72,
    ],
    [
      'with a column that has the name of a site',
      row(1, 'Hotel', 'Website', 'Booking.com') + row(2, 'Acme', 'acme.com', 8.5),
      1,
      1,
    ],
  ])('has its header %s', async (_, rows, header, count) => {
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows }] }));
    expect(opened.format.description).toBe(`XLSX, sheet 'S', header in row ${header}`);
    expect(opened.rows).toHaveLength(count);
  });

  it('has names that are taken whatever their case, where it is a table', async () => {
    const table =
      '<table id="1" name="T" displayName="T" ref="A1:B2"><tableColumns count="2"><tableColumn id="1" name="a"/></tableColumns></table>';
    const rows = row(1, 'domain', 'Brand_Status') + row(2, 'acme.com', 1);
    const { format } = await open(await workbookOf({ sheets: [{ name: 'S', rows, table }] }));
    expect(format.takenNames.has('brand_status')).toBe(true);
  });

  it('has the columns of its sheet; empty rows are none', async () => {
    const rows =
      row(2, null, null, 'domain', 'n') +
      '<row r="3"><c r="A3" s="1"/><c r="C3" t="inlineStr"><is><t>  </t></is></c></row>' +
      row(4, null, null, 'acme.com', 1) +
      '<row r="9"/>' +
      row(10, null, null, 'globex.com', null, 'more');
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows }] }));
    expect(opened.format.columns).toEqual(['', '', 'domain', 'n']);
    expect(opened.rows).toMatchObject([
      { domain: 'acme.com', n: 1 },
      { domain: 'globex.com', n: null, column_5: 'more' },
    ]);
    expect(opened.scanned.map(({ fields }) => fields)).toEqual([4, 5]);
  });

  it('is known from rows all over it, as it may begin with blanks', async () => {
    const all = Array.from({ length: 3_000 }, (_, at) =>
      row(at + 2, `x@mail${at}.de`, at < 2_000 ? null : `acme${at}.com`),
    );
    const rows = row(1, 'email', 'website') + all.join('');
    const { format } = await open(await workbookOf({ sheets: [{ name: 'S', rows }] }));
    expect(guessDomainColumn(format.columns, format.sampleRows)?.name).toBe('website');
    expect(format.sampleRows.length).toBeLessThan(700);
  });

  it('is on the first sheet that is to be seen and not empty, or on the one that is named', async () => {
    const other = row(1, 'domain') + row(2, 'other.com');
    const bytes = await workbookOf({
      sheets: [
        { name: 'Lookups', rows: other, state: 'hidden' },
        { name: 'Cover', rows: '<row r="1"><c r="A1" s="1"/></row>' },
        { name: 'Accounts', rows: LIST },
        { name: 'Rest', rows: other },
      ],
    });
    expect((await open(bytes)).format.description).toMatch(/'Accounts'/);
    expect((await open(bytes, { sheet: 'Lookups' })).rows).toEqual([{ domain: 'other.com' }]);
    expect((await open(bytes, { sheet: ' rest' })).rows).toEqual([{ domain: 'other.com' }]);
    await expect(open(bytes, { sheet: 'Acounts' })).rejects.toThrow(
      /Cannot find the sheet 'Acounts' in .*list\.xlsx: there are: Lookups \(hidden\), Cover, Accounts, Rest\./,
    );
    await expect(open(bytes, { sheet: 'Cover' })).rejects.toThrow(/'Cover' is empty/);
  });

  it('has a header of several rows where names are merged over them', async () => {
    const rows =
      row(1, 'Our accounts') +
      row(2, 'Company', 'Address', null, 'Contact', null) +
      row(3, null, 'Street', 'City', 'Email', 'Website') +
      row(4, 'Acme', 'Main 1', 'Ulm', 'jo@acme.com', 'acme.com') +
      row(5, 'Bolt', 'Main 2', 'Bonn', 'bo@bolt.com', 'bolt.com');
    const after =
      '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="B2:C2"/><mergeCell ref="D2:E2"/><mergeCell ref="A4:A5"/></mergeCells>';
    const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows, after }] }), {
      column: 'Contact Website',
    });
    expect(opened.format.columns).toEqual([
      'Company',
      'Address Street',
      'Address City',
      'Contact Email',
      'Contact Website',
    ]);
    expect(opened.scanned.map(({ cell }) => cell)).toEqual(['acme.com', 'bolt.com']);
  });
});

// None of these is rare: links of a few thousand rows, formats that a program adds at each copy.
it.each<[string, WorkbookSpec]>([
  [
    '30,000 links',
    {
      sheets: [
        {
          name: 'S',
          rows: LIST,
          links: Object.fromEntries(
            Array.from({ length: 30_000 }, (_, at) => [`r${at}`, `https://www.example${at}.com/`]),
          ),
          after: `<hyperlinks>${Array.from({ length: 30_000 }, (_, at) => `<hyperlink ref="B${at + 2}" r:id="r${at}"/>`).join('')}</hyperlinks>`,
        },
      ],
    },
  ],
  [
    '64,000 formats and 20,000 names',
    {
      sheets: [{ name: 'S', rows: LIST }],
      styles: `<cellXfs>${'<xf numFmtId="0" fontId="0" fillId="0" borderId="0" applyAlignment="1"/>'.repeat(64_000)}</cellXfs>`,
      behind: `<definedNames>${'<definedName name="a_long_name_of_an_old_range">#REF!</definedName>'.repeat(20_000)}</definedNames>`,
    },
  ],
])('a workbook with %s is read', async (_, spec) => {
  expect((await open(await workbookOf(spec), { column: 'domain' })).rows.length).toBeGreaterThan(1);
});
