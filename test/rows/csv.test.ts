import { describe, expect, it } from 'vitest';
import { guardFormula } from '../../src/rows/csv/csv-writer.ts';
import { openText, scanAll, sourceOf } from './sources.ts';

const LIST = 'Name;Web\nAcme;acme.com\n"B;C";bolt.com\n';

describe('CSV', () => {
  it.each<[string, string, readonly string[]]>([
    ['CSV', 'a,b\n1,2\n', ['a', 'b']],
    ['CSV', 'domain\nacme.com\n', ['domain']],
    ['CSV, semicolon-separated', 'a;b\n1,5;2,5\n3,5;4,5\n', ['a', 'b']],
    ['CSV, semicolon-separated', 'x;"a, b"\n1;2\n', ['x', 'a, b']],
    [
      'CSV, semicolon-separated',
      'Company, legal;Site\nA, Inc.;a.com\n',
      ['Company, legal', 'Site'],
    ],
    ['CSV, tab-separated', 'a\tb\n1\t5" pipe\n', ['a', 'b']],
    ['CSV, pipe-separated', 'a|b\r\n1|2\r\n', ['a', 'b']],
    ['CSV', '"a", "b, c"\n"1",  "2, 3"\n', ['a', 'b, c']],
    ['CSV', '"a",   "b, c"\n"1",   "2, 3"\n', ['a', 'b, c']],
    ['CSV', 'a,b\n1,2,,\n3,4,,\n', ['a', 'b', '', '']],
    ['CSV', '\n"a ""1""",b,b\r\n1,"2\n3",4\r\n', ['a "1"', 'b', 'b']],
    ['CSV', '"a","b"\n"1 \\"x\\", y","2"\n"3 \\"z\\", y\\\nu","4"\n', ['a', 'b']],
    ['CSV', '"a","b"\n"C:\\dir\\","2, 3"\n"D:\\","4"\n', ['a', 'b']],
    ['CSV, semicolon-separated', 'sep=;\r\na,x,y;b\r\n1,2,3;4\r\n', ['a,x,y', 'b']],
    ["CSV, '\\'-separated", 'sep=\\\na\\b\n1\\2\n', ['a', 'b']],
    ["CSV, ']'-separated", 'sep=]\na]b\n1]2\n', ['a', 'b']],
    ["CSV, 'd'-separated", 'sep=d\nadb\n1d2\n', ['a', 'b']],
    ['CSV, semicolon-separated', 'a;b;c,d\n1;2;3,4\n5;6;7,8\n9,9\n\n', ['a', 'b', 'c,d']],
    ['CSV', 'a;b;c,d\n1,2\n', ['a;b;c', 'd']],
    ['CSV, tab-separated', 'a\tb\n"x\ty"\n"p\tq"\n"r\ts"\n', ['a', 'b']],
  ])('reads %s: %j', (description, text, columns) => {
    const format = openText(sourceOf(text));
    expect([format.description, format.columns]).toEqual([description, columns]);
  });

  it('takes the delimiter of a name, if it makes columns', () => {
    expect(openText(sourceOf('a\tb,c\n', { name: 'list.tsv' })).columns).toEqual(['a', 'b,c']);
    expect(openText(sourceOf('a,b\n', { name: 'list.tab.gz' })).columns).toEqual(['a', 'b']);
  });

  it('says of each row where it is, how long it is, and how many cells it has', async () => {
    for (const chunkBytes of [1, 7, 1_000]) {
      const text =
        'domain,ö\r\nä.com,1\r\n"b\r\n.com"\r\n\r\nc.com,1,2\n"""",\r\r\n\r\r\n,1\nd.com,"';
      const source = sourceOf(`${text}"`, { chunkBytes });
      const rows = await scanAll(openText(source), source, 'domain');
      expect(rows.map((row) => [row.cell, row.raw, row.fields, row.line])).toEqual([
        ['ä.com', 'ä.com,1\r\n', 2, 2],
        ['b\r\n.com', '"b\r\n.com"\r\n', 1, 3],
        ['', '\r\n', 0, 5],
        ['c.com', 'c.com,1,2\n', 3, 6],
        ['"', '"""",\r\r\n', 2, 7],
        ['', '\r\r\n', 0, 8],
        ['', ',1\n', 2, 9],
        ['d.com', 'd.com,""', 2, 10],
      ]);
    }
  });

  it.each([
    'name,domain,note\nA,a.com,"called:\nB, b.com, no\nbye"\nC,c.com,x\n',
    'name,domain,note\n"A\nJo, www.a.com, +49 30",a.com,x\nC,c.com,x\n',
    'domain,note\na.com,"called:\nb.com, no\nbye"\nc.com,x\n',
    'note,domain\n"see b.com,c.com",a.com\nx,c.com\n',
    'name,domain,note\n"A\nB,b.com,no\nbye",a.com,x\nC,c.com,x\n',
    'name,domain,note\n"A,B,C\nbye",a.com,x\nC,c.com,x\n',
    'name,domain,note\n"A,B,C\nD,b.com,no,E\nbye",a.com,x\nC,c.com,x\n',
    'name,note,domain\nA,"see,b.com\nbye",a.com,x\nC,x,c.com\n',
    'x,note,domain,y\n"1\n2","see,b.com,bye",a.com\nC,x,c.com,y\n',
  ])('leaves a note of several lines alone, one of which looks like a row: %j', async (text) => {
    const source = sourceOf(text);
    const scanned = await scanAll(openText(source), source, 'domain');
    expect(scanned.map(({ cell, mayTakeRows }) => [cell, mayTakeRows])).toEqual([
      ['a.com', false],
      ['c.com', false],
    ]);
  });

  it.each([
    'n,domain,note\nA,a.com,"now:\nB,b.com,moved"\nC,c.com,x\n',
    'n,domain,a,b\n1,"a.com,2,3\n4,b.com",5,6\n7,c.com,8,9\n',
  ])('reads a valid text with lines that look like rows, and says so: %j', async (text) => {
    const source = sourceOf(text);
    const scanned = await scanAll(openText(source), source, 'domain');
    expect(scanned.map(({ mayTakeRows }) => mayTakeRows)).toEqual([true, false]);
  });

  it('takes a first row of words for one of the list, and such a row behind a gap for none', async () => {
    const source = sourceOf('domain,x\nA note,1\na.com,2\n\nA note,3\n');
    const scanned = await scanAll(openText(source), source, 'domain');
    expect(scanned.map(({ below }) => below)).toEqual([undefined, undefined, undefined, 'perhaps']);
  });

  it('escapes quotes by a backslash where the list does, also far from its beginning', async () => {
    const rows = '"1","a.com"\n'.repeat(200) + '"say \\"hi\\", you","b.com"\n'.repeat(3);
    const whole = sourceOf(`"n","domain"\n${rows}`, { isWholeInSample: false });
    const source = {
      ...whole,
      sample: whole.sample.subarray(0, 500),
      windows: [whole.sample.toString('utf8').slice(-129)],
    };
    const format = openText(source);
    const scanned = await scanAll(format, source, 'domain');
    expect(scanned.filter(({ cell }) => cell === 'b.com')).toHaveLength(3);
    const { raw = '' } = scanned.at(-1) ?? {};
    expect(format.toObject(raw)).toEqual({ n: 'say "hi", you', domain: 'b.com' });
    expect(format.createWriter(['x'], { maxFields: 2 }).row(raw, 2, ['a\\"b'])).toBe(
      `${raw.trim()},"a\\\\\\"b"\n`,
    );
  });

  it('takes an odd row for one row, and keeps the others', async () => {
    const rows = [
      '1,"Acme" Inc,acme.com',
      'x',
      '2,5" pipe,bolt.com',
      '3,A, B,cora.de',
      '4,d.com',
      '5,E,e.com, ,',
      '6,F,f.com,,x',
    ];
    const source = sourceOf(`id,name,domain\n${rows.join('\n')}\n`);
    const scanned = await scanAll(openText(source), source, 'domain');
    expect(scanned.map((row) => [row.raw.trimEnd(), row.cell, row.shifted])).toEqual([
      [rows[0], 'acme.com', undefined],
      [rows[1], '', undefined],
      [rows[2], 'bolt.com', undefined],
      [rows[3], ' B', 'too_many_cells'],
      [rows[4], '', undefined],
      [rows[5], 'e.com', undefined],
      [rows[6], 'f.com', 'too_many_cells'],
    ]);
  });

  it.each<[string, string, RegExp]>([
    [
      'an open quote',
      'a,b\n1,2\n\n3,"4\n5,6\n',
      /line 4 of list\.csv: a quote is opened.*never closed/,
    ],
    [
      'a quote that is closed rows later',
      'a,b,c\nu.com,1,2\n"v.com,3,4\nw.com,5,6\n"x.com",7,8\ny.com,9,0\n',
      /line 3 of list\.csv: a quote is opened in this row and closed in a later one/,
    ],
    [
      'one that is closed in the next row',
      'a,b,c\n"v.com,3,4\n"x.com",7,8\ny.com,9,0\n',
      /line 2 of list\.csv: a quote is opened in this row and closed in a later one/,
    ],
    [
      'a quote after which the row has too few cells',
      'a,b,c\nu.com,"1,2\nv.com,3,4\nw.com,5,6"\ny.com,9,0\n',
      /line 2 of list\.csv: a quote is opened in this row and closed in a later one/,
    ],
    ['an open quote in the header', '\n"a,b\n1,2\n', /never closed/],
    ['a million cells', `a,b\n1,2\n3${',4'.repeat(16_386)}\n`, /line 3 of.*more than 16,386 cells/],
    ['nothing', '\n\n', /it is empty; expected a header and rows/],
    ['a short header', 'n,a\n1,A,a.com\n2,B,b.com\n', /one cell more than the header/],
    ['another delimiter', 'i,a\n1;a.com\n2;b.com\n3;c.com\n', /one cell more.*as the rows are/],
    ['two names less', 'n,a\n1,x,A,a.com\n2,y,B,b.com\n', /2 cells more than the header \('n,a'\)/],
  ])('refuses what it cannot read: %s', async (_, text, expected) => {
    const source = sourceOf(text);
    await expect((async () => scanAll(openText(source), source, 'a'))()).rejects.toThrow(expected);
  });

  it('takes rows of nothing but delimiters for none, and keeps them', async () => {
    const source = sourceOf(';;\n\na;b;c\n1;;x\n; ;"\t"\n\n;;;\n;;y\n\x1a');
    const format = openText(source);
    expect((await scanAll(format, source, 'b')).map((row) => [row.fields, row.isBlank])).toEqual([
      [3, false],
      [3, true],
      [0, false],
      [4, true],
      [3, false],
      [0, false],
    ]);
    const writer = format.createWriter(['p'], { maxFields: 3 });
    expect(writer.header).toBe(';;\n\na;b;c;p\n');
  });

  it('of one column has a row for each line that is not empty, and gives other cells where asked', async () => {
    const source = sourceOf('domain\nx\n \n\n""\r\n\x1a');
    const rows = await scanAll(openText(source), source, 'domain');
    expect(rows.map(({ cell, fields, isBlank }) => [cell, fields, isBlank])).toEqual([
      ['x', 1, false],
      [' ', 1, false],
      ['', 0, false],
      ['', 1, false],
      ['\x1a', 0, false],
    ]);
    const list = sourceOf('a,b,c\n1,2,3\n4\n');
    const column = (index: number) => ({ index, name: '' });
    const others: unknown[] = [];
    for await (const batch of openText(list).scan(list, column(1), [column(2), column(0)])) {
      others.push(...batch.map((row) => row.others));
    }
    expect(others).toEqual([
      ['3', '1'],
      ['', '4'],
    ]);
  });

  it('names columns by their place where there is no header', async () => {
    const source = sourceOf('1;a.com\r\n\r\n2;b.com;x\r\n');
    const format = openText(source, { noHeader: true });
    expect(format.columns).toEqual(['column_1', 'column_2', 'column_3']);
    expect(await scanAll(format, source, 'column_2')).toMatchObject([
      { cell: 'a.com', line: 1 },
      { fields: 0 },
      { cell: 'b.com', line: 3 },
    ]);
    expect(format.createWriter(['x'], { maxFields: 3 }).header).toBe(
      'column_1;column_2;column_3;x\r\n',
    );
  });

  it.each([
    ['a title', 'Accounts\n', 1],
    ['a blank line too', 'Accounts\r\n\r\n', 2],
    ['an open quote', 'Report "Q3\n', 1],
  ])('skips lines above a list: %s', async (_, title, skipLines) => {
    const source = sourceOf(title + LIST, { chunkBytes: 3 });
    const format = openText(source, { skipLines });
    const rows = await scanAll(format, source, 'Web');
    expect(rows.map((row) => [row.cell, row.line - skipLines])).toEqual([
      ['acme.com', 2],
      ['bolt.com', 3],
    ]);
    expect(() => openText(sourceOf('a\nb'), { skipLines: 2 })).toThrow(/it is empty/);
  });

  it('gives a row as an object in which no column hides another', () => {
    const format = openText(sourceOf('a,b,a\n'));
    expect(format.toObject('1,2,3,4\n')).toEqual({ a: '1', b: '2', a_2: '3', column_4: '4' });
    expect(format.toObject('1\n')).toEqual({ a: '1', b: '', a_2: '' });
  });
});

describe('a row of CSV', () => {
  it.each<[unknown, string]>([
    ['x', 'x'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['a\rb', '"a\rb"'],
    [null, ''],
    [undefined, ''],
    [-5, '-5'],
    [true, 'true'],
    [['a', 'b'], '"a; b"'],
    ['a;=1', '"a;=1"'],
    ['a\t=1', '"a\t=1"'],
    [{ a: 1 }, '"{""a"":1}"'],
    ['=1', "'=1"],
  ])('gets a cell of %j', (value, cell) => {
    const writer = openText(sourceOf('a,b\r\n1\r\n')).createWriter(['x', 'y'], { maxFields: 3 });
    expect(writer.row('1, "2"\r\n', 2, [value, 'z'])).toBe(`1, "2",,${cell},z\r\n`);
    expect(writer.row('1', 1, [value, 'z'])).toBe(`1,,,${cell},z\r\n`);
  });

  it.each<[string, string | undefined]>([
    ['1,,"c"\r\n', '1,"v,w","c"\r\n'],
    ['1," "\n', '1,"v,w"\n'],
    ['"1"', '"1","v,w"'],
    ['1,"b, c"\n', undefined],
  ])('is filled where it is blank: %j', (raw, expected) => {
    const { fillCell } = openText(sourceOf('a,b,c\n'));
    expect(fillCell({ raw, fields: 2 }, { index: 1, name: 'b' }, 'v,w')?.raw).toBe(expected);
  });
});

describe('a formula', () => {
  it.each([
    '=1+1',
    '＝A1',
    '\ufe66A1',
    ' =1',
    '\u200b=x',
    '\t1',
    '\r1',
    '+A1',
    '-A1',
    '+ \u2003A1',
    '-2+3',
    '@SUM(1)',
    "+cmd|' /C x'!A0",
    '+49 89 = 3',
  ])('is guarded: %j', (text) => expect(guardFormula(text)).toBe(`'${text}`));
  it.each([
    '+49 89 1234',
    '+49 (0) 89-1234',
    '+1(555)123-4567',
    '@acme',
    '-',
    '- none',
    '-5',
    '+1.5',
    'a=b',
    '#tag',
  ])('is not %j', (text) => expect(guardFormula(text)).toBe(text));

  it.each<[string, string]>([
    ['spaces', `+${' '.repeat(2_000_000)}x`],
    ['brackets', `+1${'(1'.repeat(1_000_000)}x`],
    ['signs', '+ '.repeat(1_000_000)],
    ['digits', `+${'1.'.repeat(1_000_000)}`],
  ])('takes no longer to be told for millions of %s', (_, text) => {
    expect(guardFormula(text)).toMatch(/^'?\+/); // ends within the time of a test
  });
});
