import { describe, expect, it } from 'vitest';
import { endOfQuotes, readShape } from '../../../src/rows/csv/detect-dialect.ts';

const DOUBLED = { quote: '"', escape: '"' } as const;
const ESCAPED = { quote: '"', escape: '\\' } as const;

describe('readShape', () => {
  it.each([
    [';;;\na;b;c;d\n', 2],
    ['a;b;c;d\n;;;\n1;2;3;4\n', 3],
    ['a;b;c;d\n;;;', 2],
    ['a;b;c;d\n\n\n1;2;3;4\n', 2],
    ['a\n;\n', 2],
  ])('takes a row of empty cells for a row, and an empty line for none: %j', (text, records) => {
    const grammar = { delimiter: ';', endsAtReturn: false, ...DOUBLED } as const;
    expect(readShape(text, grammar, { isWhole: true }).records).toBe(records);
  });
});

describe('endOfQuotes', () => {
  it.each([
    ['"a",b', DOUBLED, 3],
    ['"a""b",c', DOUBLED, 6],
    ['"a""",c', DOUBLED, 5],
    ['"a""', DOUBLED, -1],
    ['""', DOUBLED, 2],
    ['"', DOUBLED, -1],
    ['"a\\"b",c', ESCAPED, 6],
    ['"a\\\\",c', ESCAPED, 5],
    ['"a\\nb",c', ESCAPED, 6],
    ['"a"\\",c', ESCAPED, 3],
    ['"a\\"', ESCAPED, -1],
    ['"a\\', ESCAPED, -1],
  ])('of %s with %o are behind character %i', (text, style, end) => {
    expect(endOfQuotes(text, 0, style)).toBe(end);
    expect(endOfQuotes(`x,${text}`, 2, style)).toBe(end === -1 ? -1 : end + 2);
  });

  it('are found in a cell of megabytes that is full of backslashes', () => {
    const text = `"${'C:\\\\dir\\n '.repeat(600_000)}"`;
    expect(endOfQuotes(text, 0, ESCAPED)).toBe(text.length);
  });
});
