import { describe, expect, it } from 'vitest';
import { detectDialect } from '../../src/rows/csv-dialect.ts';

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
    expect(detectDialect('a,b\tc,d\n1,2\t3,4\n', '\t').delimiter).toBe('\t');
    expect(detectDialect('a,b\n1,2\n', '\t').delimiter).toBe(',');
  });

  it('counts nothing within quotes, over lines too', () => {
    expect(detectDialect('a;b\n"x,\n,,,\n,";2\n').delimiter).toBe(';');
  });

  it.each([
    ['a\nb\n', '\n'],
    ['a\r\nb\r\n', '\r\n'],
    ['a\rb\r', '\r'],
    ['a\rb\n', '\n'],
    ['a', '\n'],
  ])('finds the line end of %j', (sample, lineEnd) => {
    expect(detectDialect(sample).lineEnd).toBe(lineEnd);
  });
});
