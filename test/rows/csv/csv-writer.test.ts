import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellWriterOf, createCsvWriter } from '../../../src/rows/csv/csv-writer.ts';
import type { RowWriter } from '../../../src/rows/row-format.ts';
import { dialectOf } from '../sources.ts';
import { FORMULA_SIGNS, inCell, UNSEEN_CHARACTERS } from './formulas.ts';

function writer(delimiter = ',', lineEnd: '\n' | '\r\n' | '\r' = '\n'): RowWriter {
  return createCsvWriter({
    dialect: dialectOf({ delimiter, lineEnd }),
    before: '',
    blankRows: [],
    headerRaw: `a${delimiter}b${lineEnd}`,
    headerFields: 2,
    width: 3,
    added: ['x', 'y'],
    byteOrderMark: false,
  });
}

describe('createCsvWriter', () => {
  it('fills header and short rows up, so that the added cells line up', () => {
    const { header, row } = writer();
    expect(header).toBe('a,b,,x,y\n');
    expect(row('1\n', 1, ['p', 'q'])).toBe('1,,,p,q\n');
    expect(row('1,2,3\n', 3, ['p', 'q'])).toBe('1,2,3,p,q\n');
  });

  it('leaves the own part to the byte, its line end included', () => {
    const { row } = writer();
    expect(row(' "1" ,=x\r\n', 2, ['p', 'q'])).toBe(' "1" ,=x,,p,q\r\n');
    expect(row('"a\n",2', 2, ['p', 'q'])).toBe('"a\n",2,,p,q\n');
  });

  it('quotes added text that holds the delimiter, a quote or a line end', () => {
    expect(writer(';').row('1;2;3\n', 3, ['a;b', 'c,d'])).toBe('1;2;3;"a;b";c,d\n');
    expect(writer().row('1,2,3\n', 3, ['"', 'a\nb'])).toBe('1,2,3,"""","a\nb"\n');
    expect(writer().row('1,2,3\n', 3, ['a\rb', 'a\r\nb'])).toBe('1,2,3,"a\rb","a\r\nb"\n');
  });

  it('writes texts as csv-stringify would', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', ' ', ',', ';', '"', '\n', '\r', '=', '\t'),
    });
    fc.assert(
      fc.property(text, fc.constantFrom(',', ';', '\t', '|'), (cell, delimiter) => {
        const format = { delimiter, quoted_match: /\r/ };
        const written = writer(delimiter).row('\n', 3, [cell]).slice(1);
        // A row of one empty cell has no other way to say so.
        expect(written).toBe(cell === '' ? '\n' : stringify([[inCell(cell)]], format));
      }),
    );
  });

  it.each(['=1', '+1', '-1', '@a', '\ta', '\ra'])('makes the text %j harmless', (text) => {
    expect(writer('|').row('1|2|3\n', 3, [text, ''])).toContain(`'${text}`);
  });

  describe('a text that a spreadsheet would run', () => {
    const written = (text: string): string => cellWriterOf(dialectOf())(text);

    it('gets an apostrophe, whatever stands unseen in front of it', () => {
      const runs = UNSEEN_CHARACTERS.flatMap((unseen) =>
        FORMULA_SIGNS.flatMap((sign) => [`${unseen}${sign}1`, ` ${unseen}${unseen}${sign}1`]),
      );
      expect(runs.filter((text) => !/^"?'/.test(written(text)))).toEqual([]);
    });

    it.each(['1=1', 'a\n=1', '#=1', "'=1", '(=1)', '\u00e9=1', '日=1', '\n', ' a', '\u200Ba', ''])(
      'is not %j',
      (text) => {
        expect(written(text)).not.toMatch(/^"?'(?!=)/);
        expect(written(text)).toContain(text);
      },
    );

    it('gets it as the name of a column too', () => {
      const options = {
        before: '',
        blankRows: [],
        headerRaw: 'a\n',
        headerFields: 1,
        width: 1,
        byteOrderMark: false,
      };
      const added = ['=1+1', ' \u200B@x', '\n-1'];
      expect(createCsvWriter({ ...options, dialect: dialectOf(), added }).header).toBe(
        `a,'=1+1,' \u200B@x,"'\n-1"\n`,
      );
    });

    it('gets it where a character that does not fit becomes a space in front of it', () => {
      const write = cellWriterOf({ ...dialectOf({ delimiter: '|' }), quote: '', escape: '' });
      expect(write('|=1')).toBe("' =1");
      expect(write('\n+1')).toBe("' +1");
    });
  });

  it('writes numbers, booleans, nothing, lists and structures', () => {
    const cells = (...values: unknown[]): string => writer().row('1,2,3\n', 3, values).slice(6, -1);
    expect(cells(-1.5, true)).toBe('-1.5,true');
    expect(cells(null, undefined)).toBe(',');
    expect(cells(['a', 1, null], [])).toBe('a; 1; ,');
    expect(cells({ a: 1 }, [{ a: 1 }])).toBe('"{""a"":1}","[{""a"":1}]"');
  });

  it('begins with the byte order mark that the input had', () => {
    const { header } = createCsvWriter({
      dialect: dialectOf(),
      before: '',
      blankRows: [],
      headerRaw: 'a',
      headerFields: 1,
      width: 1,
      added: ['x'],
      byteOrderMark: true,
    });
    expect(header).toBe('\uFEFFa,x\n');
  });
});
