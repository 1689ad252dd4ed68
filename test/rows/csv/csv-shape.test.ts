import { describe, expect, it } from 'vitest';
import { readShape } from '../../../src/rows/csv/csv-dialect.ts';

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

  it.each([
    ['"a",b', DOUBLED, true],
    ['"a""b",c', DOUBLED, true],
    ['"a""",c', DOUBLED, true],
    ['"a""', DOUBLED, false],
    ['""', DOUBLED, true],
    ['"', DOUBLED, false],
    ['"a\\"b",c', ESCAPED, true],
    ['"a\\\\",c', ESCAPED, true],
    ['"a\\nb",c', ESCAPED, true],
    ['"a"\\",c', ESCAPED, false],
    ['"a\\"', ESCAPED, false],
    ['"a\\', ESCAPED, false],
  ])(
    'sees whether quotes are closed at the end of their cell: %s with %o',
    (text, style, isClosed) => {
      const grammar = { delimiter: ',', endsAtReturn: false, ...style } as const;
      const expected = isClosed ? { quoted: 1, faults: 0 } : { quoted: 0, faults: 1 };
      expect(readShape(text, grammar, { isWhole: true })).toMatchObject(expected);
      expect(readShape(`x,${text}`, grammar, { isWhole: true })).toMatchObject(expected);
    },
  );

  it('gets through a cell of megabytes that is full of backslashes', () => {
    const text = `"${'C:\\\\dir\\n '.repeat(600_000)}"`;
    const grammar = { delimiter: ',', endsAtReturn: false, ...ESCAPED } as const;
    expect(readShape(text, grammar, { isWhole: true })).toMatchObject({ quoted: 1, faults: 0 });
  });
});
