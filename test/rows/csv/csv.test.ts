import { describe, expect, it } from 'vitest';
import { openCsv } from '../../../src/rows/csv/csv.ts';
import { scanAll, sourceOf } from '../sources.ts';

describe('openCsv', () => {
  it('reads the header and the first rows', () => {
    const format = openCsv(sourceOf('\n"a ""1""",b,b\n1,"2\n3",4\n\n5\n'));
    expect(format.columns).toEqual(['a "1"', 'b', 'b']);
    expect(format.sampleRows).toEqual([['1', '2\n3', '4'], ['5']]);
    expect(format.description).toBe('CSV');
    expect(openCsv(sourceOf('a;b\n')).description).toBe('CSV, semicolon-separated');
  });

  it('says how long each row is, in bytes, and how many cells it has', async () => {
    const source = sourceOf('domain,ö\r\nä.com,1\r\n"b\r\n.com"\r\n\r\nc.com,1,2');
    const rows = await scanAll(openCsv(source), source, 'domain');
    expect(rows).toMatchObject([
      { cell: 'ä.com', sizeBytes: 10, fields: 2 },
      { cell: 'b\r\n.com', sizeBytes: 11, fields: 1 },
      { cell: '', sizeBytes: 2, fields: 0 },
      { cell: 'c.com', sizeBytes: 9, fields: 3 },
    ]);
  });

  it.each([
    ['numbers', 'name,website\n1,Acme,acme.com\n2,Bolt,bolt.com\n7,Cora,cora.de\n'],
    ['names', '"name","website"\n"a b","Acme","acme.com"\n"c","Bolt","bolt.com"\n'],
  ])('gives the first column a blank name if R wrote %s of rows', async (_, text) => {
    const source = sourceOf(text);
    const format = openCsv(source);
    expect(format.columns).toEqual(['', 'name', 'website']);
    expect(format.notices).toEqual([expect.stringContaining('one cell more than the header')]);
    const rows = await scanAll(format, source, 'website');
    expect(rows.map((row) => [row.cell, row.shifted])).toContainEqual(['acme.com', undefined]);
    const header = format.createWriter(['p'], { maxFields: 3 }).header;
    expect(header).toBe(`,${text.split('\n', 1).join()},p\n`);
  });

  it.each([
    ['texts that are not quoted', 'id,domain,note\n1,acme.com,a, b\n2,bolt.com,c, d\n'],
    ['delimiters at the end of each line', 'id,domain\n1,acme.com,\n2,bolt.com,\n'],
    ['one row that is longer', 'name,website\n1,Acme,acme.com\n2,bolt.com\n'],
  ])('keeps the header over %s', (_, text) => {
    expect(openCsv(sourceOf(text)).columns[0]).not.toBe('');
  });

  it('refuses a list whose lines are quoted as a whole, and says how to mend it', () => {
    const text = '"Name,Website"\r\n"Acme,acme.com"\r\n"""Bolt, Inc"",bolt.com"\r\n';
    expect(() => openCsv(sourceOf(text))).toThrow(/each of its lines is quoted as a whole.*sed -E/);
    const belowHeader = 'Name;Website\n"Acme;acme.com"\n"""Bolt; Inc"";bolt.com"\n';
    expect(() => openCsv(sourceOf(belowHeader))).toThrow(/each of its lines is quoted as a whole/);
    expect(openCsv(sourceOf('a,b\n"one, two, three"\n')).columns).toHaveLength(2);
    const others = ['"Name, site"\n"Acme"\n', '"a,b"\n', 'd\n"x "" y"\n'];
    for (const list of others) expect(openCsv(sourceOf(list)).columns).toHaveLength(1);
  });

  it('takes a quoted empty cell for a row, also at the very end', async () => {
    const source = sourceOf('domain\n""\n\n""');
    const rows = await scanAll(openCsv(source), source, 'domain');
    expect(rows.map(({ fields }) => fields)).toEqual([1, 0, 1]);
  });

  it.each(['\n', '\n\n', '\r\n\r\n\r\n'])(
    'takes empty lines for no rows, also at the end of the file: %j',
    async (end) => {
      for (const chunkBytes of [1, 5, 1_000]) {
        const source = sourceOf(`domain,n\na.com,1${end}`, { chunkBytes });
        const rows = await scanAll(openCsv(source), source, 'domain');
        expect(rows.filter(({ fields }) => fields > 0)).toHaveLength(1);
      }
    },
  );

  it.each([
    ['a quote that is never closed', 'a,b\n1,2\n3,"4\n5,6\n', /line 3 of list\.csv.*never closed/],
    ['the same in the header', '\n"a,b\n1,2\n', /line 2 of list\.csv.*never closed/],
    [
      'text behind a closing quote',
      'a,b\n"1\n",2\n3,4,"5"x\n',
      /line 4 of list\.csv.*closing quote/,
    ],
    [
      'a quote that is closed some lines below, by chance',
      'a,b\r\n"1\r\n",2\r\n3,"4\r\n5,"6\r\n',
      /line 4 of list\.csv.*closing quote/,
    ],
    [
      'a quote behind a space',
      'a,b\n1,2, "3,4"\n',
      /line 2 of list\.csv.*middle of a cell, behind a space/,
    ],
    [
      'the same beside a cell of two lines',
      'a,b\n"1\n2", "3,4"\n',
      /line 2 of list\.csv.*middle of a cell, behind a space/,
    ],
    [
      'a carriage return far below',
      `a,b\n${'1,2\n'.repeat(600)}3,4\r5,6\n`,
      /line 602 of list\.csv.*carriage return/,
    ],
    [
      'the same in a list of one column',
      `a\n${'1\n'.repeat(600)}3\r5\n`,
      /line 602 of list\.csv.*carriage return/,
    ],
  ])('names the line at fault: %s', async (_, text, expected) => {
    for (const chunkBytes of [1, 7, 100]) {
      const source = sourceOf(text, { chunkBytes });
      const scan = async () => scanAll(openCsv(source), source, 'a');
      await expect(scan()).rejects.toThrow(expected);
    }
  });

  it.each([
    ['a,b\n5" pipe,x\n', '5" pipe'],
    ['a,b\n"5"" pipe",x\n', '5" pipe'],
    ['a,b\n"Acme" Inc,x\n', '"Acme" Inc'],
    ['a,b\n "x",y\n', ' "x"'],
    ['a,b\n1" 2" 3",y,z\n', '1" 2" 3"'],
    ['a,b\n "x","1\n2"\n', ' "x"'],
    ['a\tb\n1\t"2\n "x\t3\t4\n', '1', ' "x'],
    ['a,b\n1\rx,2\n3,4\n', '1\rx', '3'],
  ])('takes a quote for text where the cells are as expected: %j', async (text, ...cells) => {
    const source = sourceOf(text);
    const rows = await scanAll(openCsv(source), source, 'a');
    expect(rows.map((row) => row.cell)).toEqual(cells);
  });

  it('refuses a row that would make all others very long', async () => {
    const most = `3${',4'.repeat(16_385)}`;
    const scan = (row: string) => {
      const source = sourceOf(`a,b\n1,2\n${row}\n`, { chunkBytes: 90_000 });
      return scanAll(openCsv(source), source, 'a');
    };
    expect(await scan(most)).toMatchObject([{ fields: 2 }, { fields: 16_386 }]);
    await expect(scan(`${most},4`)).rejects.toThrow(
      /line 3 of list\.csv: it has more than 16,386 cells, and the header 2/,
    );
  });

  it.each([
    ['cells', ',4', /line 3 of list\.csv: it has more than 16,386 cells/],
    ['text', 'é', /line 3 of list\.csv: this row does not end within 32 MB/],
  ])('gives up on a row without an end: %s', async (_, piece, expected) => {
    const beginning = Buffer.from('a,b\n1,2\n3');
    const more = Buffer.from(piece.repeat(1_000_000));
    let pieces = 0;
    const source = {
      ...sourceOf(beginning),
      async *read() {
        yield beginning;
        for (pieces = 0; pieces < 20; pieces += 1) yield more;
      },
    };
    await expect(scanAll(openCsv(source), source, 'a')).rejects.toThrow(expected);
    expect(pieces).toBeLessThan(20);
  });

  it('leaves an error of the file what it is', async () => {
    const error = new Error('the disk is gone');
    const source = sourceOf('a,b\n1,2\n');
    const format = openCsv(source);
    source.read = () => {
      throw error;
    };
    await expect(scanAll(format, source, 'a')).rejects.toBe(error);
  });

  it('takes rows of nothing but delimiters for none, and keeps them', async () => {
    const source = sourceOf(';;\n\na;b;c\n1;;x\n; ;"\t"\n\n;;;\n;;y\n');
    const format = openCsv(source);
    expect(format.sampleRows).toEqual([
      ['1', '', 'x'],
      ['', '', 'y'],
    ]);
    expect((await scanAll(format, source, 'b')).map((row) => [row.fields, row.isBlank])).toEqual([
      [3, false],
      [3, true],
      [0, false],
      [4, true],
      [3, false],
    ]);
    expect(format.createWriter(['p'], { maxFields: 3 }).header).toBe(';;;\na;b;c;p\n');
    const narrow = sourceOf('a\n \n""\n');
    const rows = await scanAll(openCsv(narrow), narrow, 'a');
    expect(rows.map((row) => [row.fields, row.isBlank])).toEqual([
      [1, false],
      [1, false],
    ]);
  });

  it('names the line of a row that is too long, below a title too', async () => {
    const source = sourceOf('Accounts\n\nid,domain\n1,"a\n.com"\n2,b.com,x\n');
    const rows = await scanAll(openCsv(source, { skipLines: 2 }), source, 'domain');
    expect(rows[1]?.shifted).toEqual({ line: 6, reason: 'too_many_cells' });
  });

  it.each(['sep=;', '"sep=;"', 'SEP=;'])('obeys %s, and keeps it', async (sep) => {
    const source = sourceOf(`${sep}\r\na,x;b\r\n1;2\r\n`);
    const format = openCsv(source);
    expect(format.columns).toEqual(['a,x', 'b']);
    expect(await scanAll(format, source, 'b')).toMatchObject([{ cell: '2', sizeBytes: 5 }]);
    expect(format.headBytes).toBe(sep.length + 9);
    const { header } = format.createWriter(['c'], { maxFields: 2 });
    expect(header).toBe(`${sep}\r\na,x;b;c\r\n`);
  });

  it('calls columns by their place where there is no header', async () => {
    const source = sourceOf('1;a.com\r\n\r\n2;b.com;x\r\n');
    const format = openCsv(source, { noHeader: true });
    expect(format.columns).toEqual(['column_1', 'column_2', 'column_3']);
    expect(format.sampleRows).toEqual([
      ['1', 'a.com'],
      ['2', 'b.com', 'x'],
    ]);
    expect(await scanAll(format, source, 'column_2')).toMatchObject([
      { cell: 'a.com', fields: 2 },
      { fields: 0 },
      { cell: 'b.com', fields: 3 },
    ]);
    const { header } = format.createWriter(['x'], { maxFields: 3 });
    expect(header).toBe('column_1;column_2;column_3;x\r\n');
    expect(() => openCsv(sourceOf('\n'), { noHeader: true })).toThrow(/empty; expected rows/);
  });

  it('gives a row as an object in which no column hides another', () => {
    const format = openCsv(sourceOf('a,b,a\n'));
    expect(format.toObject('1,2,3,4\n')).toEqual({ a: '1', b: '2', a_2: '3', column_4: '4' });
    expect(format.toObject('1\n')).toEqual({ a: '1', b: '', a_2: '' });
  });
});
