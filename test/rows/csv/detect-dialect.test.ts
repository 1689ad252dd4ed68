import { describe, expect, it } from 'vitest';
import { detectDialect } from '../../../src/rows/csv/csv-dialect.ts';

describe('detectDialect', () => {
  it.each([
    ['a,b\n1,2\n', ','],
    ['a;b\n1,5;2,5\n', ';'],
    ['a\tb\n1, x\t2; y\n', '\t'],
    ['a|b\n1|2\n', '|'],
    ['"a;x","b;y"\n1,2\n', ','],
    ['domain\nacme.com\n', ','],
    ['', ','],
  ])('finds the delimiter of %j', (sample, delimiter) => {
    expect(detectDialect(sample).delimiter).toBe(delimiter);
  });

  it('takes the delimiter that most rows agree on, not the one that occurs most', () => {
    expect(detectDialect('name;a,b,c,d\nx;1\ny;2,3\nz;4\n').delimiter).toBe(';');
  });

  it('prefers what the name of the file says, if it occurs at all', () => {
    expect(detectDialect('a,b\tc,d\n1,2\t3,4\n', { preferred: '\t' }).delimiter).toBe('\t');
    expect(detectDialect('a,b\n1,2\n', { preferred: '\t' }).delimiter).toBe(',');
  });

  it('counts nothing within quotes, over lines too', () => {
    expect(detectDialect('a;b\n"x,\n,,,\n,";2\n').delimiter).toBe(';');
  });

  it.each([
    ['a\nb\n', '\n'],
    ['a\r\nb\r\n', '\r\n'],
    ['a\rb\r', '\r'],
    ['a', '\n'],
  ])('finds the line end of %j', (sample, lineEnd) => {
    expect(detectDialect(sample).lineEnd).toBe(lineEnd);
  });

  it.each([
    ['a,b\n1,2\n', ['\r\n', '\n']],
    ['a,b\r1,2\r', ['\r\n', '\n', '\r']],
    ['a,b\r1,2\n3,4\r\n5,6\n', ['\r\n', '\n', '\r']],
    ['a,b\n1,x\ry\n2,z\n', ['\r\n', '\n']],
    ['a,b\n1,"x\ry"\n2,z\n', ['\r\n', '\n']],
    ['a.com\rb.com\nc.com\n', ['\r\n', '\n', '\r']],
    ['a,b\r\r\n1,2\r\r\n', ['\r\r\n', '\r\n', '\n']],
  ])('finds all that ends a line of %j', (sample, lineEnds) => {
    expect(detectDialect(sample).lineEnds).toEqual(lineEnds);
  });

  it.each([
    ['a,b\n1,"x ""y"""\n', '"', '"'],
    ['a,b\n1,"x \\"y\\", z"\n2,"\\""\n', '"', '\\'],
    ['a,b\n1,"C:\\"\n2,"D:\\"\n', '"', '"'],
    ["'a','b'\n'1','x, y'\n'2','it''s'\n", "'", "'"],
    ["'a','b'\n'1','it\\'s, or'\n'2','x'\n", "'", '\\'],
    ["a,b\n'tis,o'clock\n'twas,'x\n", '"', '"'],
    ["a,b\nrock 'n' roll,'n'\nx,y\nx,y\n", '"', '"'],
    ['a\tb\tc\n1\t"Big\t2\n1\t5"\t2\n3\t"x" y\t4\n5\tz\t6\n', '', ''],
    ['a\tb\n1\t"x\ty"\n2\t"z"\n', '"', '"'],
    ['a,b\n1,5" pipe\n2,x\n', '"', '"'],
  ])('finds the quote and what escapes it in %j', (sample, quote, escape) => {
    expect(detectDialect(sample)).toMatchObject({ quote, escape });
  });

  it.each([
    ['a:b:c\n1:2:3\n4:5:6\n', ':'],
    ['a^b\n1^2\n3^4\n', '^'],
    ['url: x\nhttps://a.com\nhttps://b.com\n', ','],
    ['a:b\n1:2:3\n4:5\n', ','],
  ])('takes a rare delimiter only where all agree: %j', (sample, delimiter) => {
    expect(detectDialect(sample).delimiter).toBe(delimiter);
  });

  it('takes commas that a space follows for those of a text', () => {
    const sample = 'name, legal;domain\nAcme, Inc.;a.com\nB, Ltd.;b.com\n';
    expect(detectDialect(sample).delimiter).toBe(';');
    expect(detectDialect('a, b\n1, 2\n').delimiter).toBe(',');
  });

  it('takes commas within cells that are quoted for those of a text', () => {
    const sample = 'domain;"a,b"\nacme.com;"1,2"\nbolt.com;"3,4"\n';
    expect(detectDialect(sample).delimiter).toBe(';');
    expect(detectDialect(sample.replaceAll(',', ',,')).delimiter).toBe(';');
    expect(
      detectDialect(sample.replaceAll(/[;,]/g, (it) => (it === ';' ? ',' : ';'))).delimiter,
    ).toBe(',');
  });

  it('takes a quote within a cell for no beginning of a quoted one', () => {
    expect(detectDialect('a;b\n1,5" x;2\n2,5" x;3\n').delimiter).toBe(';');
  });

  it('takes what it is told', () => {
    expect(detectDialect('a,b|c\n1,2|3\n', { stated: '|' }).delimiter).toBe('|');
    expect(detectDialect('domain\nacme.com\n', { stated: ';' }).delimiter).toBe(';');
  });
});
