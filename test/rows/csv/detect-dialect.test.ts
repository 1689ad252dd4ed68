import { describe, expect, it } from 'vitest';
import { describeDialect, detectDialect } from '../../../src/rows/csv/csv-dialect.ts';

/** What people are told about a list. */
function told(sample: string, options?: Parameters<typeof detectDialect>[1]): string {
  return describeDialect(detectDialect(sample, options));
}

describe('the delimiter of a list', () => {
  it.each([
    ['', 'CSV'],
    ['domain\nacme.com\n', 'CSV'],
    ['a,b\n1,2\n', 'CSV'],
    ['a;b\n1,5;2,5\n', 'CSV, semicolon-separated'],
    ['a\tb\n1, x\t2; y\n', 'CSV, tab-separated'],
    ['a|b\n1|2\n', 'CSV, pipe-separated'],
    ['\n\na;b\n\n1;2\n', 'CSV, semicolon-separated'],
  ])('is found in %j', (sample, expected) => {
    expect(told(sample)).toBe(expected);
  });

  it.each([
    ['splits most rows alike', 'name;a,b,c,d\nx;1\ny;2,3\nz;4\n', ';'],
    ['splits all rows but the last', 'a;b,c\n1;2,3\n4;5,6\n7;8', ';'],
    ['splits rows of nothing but it', ';;,,\na;b;c\n;;\n1;2;3\n', ';'],
    ['makes more cells', 'a,b;c;d\n1,2;3;4\n', ';'],
    ['makes more cells', 'a;b,c,d\n1;2,3,4\n', ','],
    ['has no space behind it', 'name, legal;domain\nAcme, Inc.;a.com\nB, Ltd.;b.com\n', ';'],
    ['is the only one, spaces or not', 'a, b\n1, 2\n', ','],
    ['has no quotes around it', '"a;x","b;y"\n1,2\n', ','],
    ['has no quotes around it, over lines', 'a;b\n"x,\n,,,\n,";2\n', ';'],
    ['has quotes beside it', 'domain;"a,b"\nacme.com;"1,2"\nbolt.com;"3,4"\n', ';'],
    ['has quotes beside it', 'domain;"a,,b"\nacme.com;"1,,2"\nbolt.com;"3,,4"\n', ';'],
    ['has quotes beside it', 'domain,"a;b"\nacme.com,"1;2"\nbolt.com,"3;4"\n', ','],
    ['leaves no quote open', 'a;b\n1,5" x;2\n2,5" x;3\n', ';'],
  ])('is the one that %s: %j', (_, sample, delimiter) => {
    expect(detectDialect(sample).delimiter).toBe(delimiter);
  });

  it.each([
    ['a:b:c\n1:2:3\n4:5:6\n', 'CSV, colon-separated'],
    ['a^b\n1^2\n3^4\n', 'CSV, caret-separated'],
    ['url: x\nhttps://a.com\nhttps://b.com\n', 'CSV'],
    ['a:b\n1:2:3\n4:5\n', 'CSV'],
    ['note: x\nopen: y\n', 'CSV'],
  ])('is a rare one only where at least three rows agree: %j', (sample, expected) => {
    expect(told(sample)).toBe(expected);
  });

  it.each([
    [
      'the name of the file, if it occurs at all',
      'a,b\tc,d\n1,2\t3,4\n',
      { preferred: '\t' },
      '\t',
    ],
    ['the name of the file, if it occurs at all', 'a,b\n1,2\n', { preferred: '\t' }, ','],
    ['the file', 'a,b|c\n1,2|3\n', { stated: '|' }, '|'],
    ['the file, even if there is none', 'domain\nacme.com\n', { stated: ';' }, ';'],
  ])('is what is said by %s: %j', (_, sample, options, delimiter) => {
    expect(detectDialect(sample, options).delimiter).toBe(delimiter);
  });
});

describe('the line ends of a list', () => {
  it.each([
    ['a', '\n', ['\r\n', '\n']],
    ['a,b\n1,2\n', '\n', ['\r\n', '\n']],
    ['a,b\r\n1,2\n', '\r\n', ['\r\n', '\n']],
    ['a,b\r1,2\r', '\r', ['\r\n', '\n', '\r']],
    ['a,b\r\r1,2\r', '\r', ['\r\n', '\n', '\r']],
    ['a,b\r1\r2\r', '\r', ['\r\n', '\n', '\r']],
    ['a,b\r1,2\n3,4\r\n5,6\n', '\r', ['\r\n', '\n', '\r']],
    ['a,b\n1,x\ry\n2,z\n', '\n', ['\r\n', '\n']],
    ['a,b\n1,"x\ry"\n2,z\n', '\n', ['\r\n', '\n']],
    ['a.com\rb.com\nc.com\n', '\r', ['\r\n', '\n', '\r']],
    ['a,b\r\r\n1,2\r\r\n', '\r\r\n', ['\r\r\n', '\r\n', '\n']],
  ])('are found in %j', (sample, lineEnd, lineEnds) => {
    expect(detectDialect(sample)).toMatchObject({ lineEnd, lineEnds });
  });
});

const ESCAPED = 'with backslashes before quotes';
const SINGLE = 'in single quotes';
const TAB_WITHOUT = 'CSV, tab-separated, without quotes';

describe('the quotes of a list', () => {
  it.each([
    ['a,b\n1,"x ""y"""\n', 'CSV'],
    ['a,b\n1,5" pipe\n2,x\n', 'CSV'],
    ['a,b\n1,"C:\\"\n2,"D:\\"\n', 'CSV'],
    ['a,b\n1,"x \\"y\\", z"\n2,"\\""\n', `CSV, ${ESCAPED}`],
    ['a,b\n1,"C:\\\\"\n2,"\\", \\""\n', `CSV, ${ESCAPED}`],
    ['a,b\n1,"\\"x\\", y"\n2,"\\", \\""\n3,"x" y\n', `CSV, ${ESCAPED}`],
  ])(
    'are doubled within quotes, unless backslashes explain the rows better: %j',
    (sample, expected) => {
      expect(told(sample)).toBe(expected);
    },
  );

  it.each([
    ["'a','b'\n'1','x, y'\n'2','it''s'\n", `CSV, ${SINGLE}`],
    ["'a';'b'\n'1';'it\\'s; or'\n'2';'x'\n", `CSV, semicolon-separated, ${SINGLE}, ${ESCAPED}`],
    ["'a','b'\n'1','it\\'s'\n", `CSV, ${SINGLE}, ${ESCAPED}`],
    ["'a','b'\n'1','x, y'\n'2','x, y'\n'3','it's'\n", `CSV, ${SINGLE}`],
    ["a,b\n1,'x'\n2,'y'\n3,z\n", `CSV, ${SINGLE}`],
    ["a,b\n1,'x'\n2,'y'\n3,z\n4,z\n", 'CSV'],
    ["a,b\n1,'x'\n", 'CSV'],
    ["a,b\n1,'x'\n2,'y'\n3,\"z\"\n", 'CSV'],
    ["a,b\n'tis,o'clock\n'twas,'x\n", 'CSV'],
    ["a,b\nrock 'n' roll,'n'\nx,y\nx,y\n", 'CSV'],
  ])(
    'are single ones where half of the rows have them, and none has double ones: %j',
    (sample, expected) => {
      expect(told(sample)).toBe(expected);
    },
  );

  it.each([
    ['a\tb\tc\n1\t"Big\t2\n1\t5"\t2\n3\t"x" y\t4\n5\tz\t6\n', TAB_WITHOUT],
    ['a\tb\n1\t"x" y\n2\t"z"\n3\t"z"\n', 'CSV, tab-separated'],
    ['a\tb\n1\t"x\ty"\n2\t"z"\n', 'CSV, tab-separated'],
    ['a,b\n1,"Big\n2,x\n', 'CSV'],
  ])('are text where most stand alone, and no comma would need them: %j', (sample, expected) => {
    expect(told(sample)).toBe(expected);
  });

  it.each([
    ['a long list may begin', 40, false, 'CSV, tab-separated'],
    ['no cell of a long list is', 40_000, false, TAB_WITHOUT],
    ['a list may not end', 40, true, TAB_WITHOUT],
  ])('are open at the end of the sample for as long as %s', (_, length, isWhole, expected) => {
    expect(told(`a\tb\n1\t2\n3\t"${'x'.repeat(length)}`, { isWhole })).toBe(expected);
  });
});

it('does not judge a long list by a row that its sample cuts short', () => {
  expect(told('a:b\n1:2\n3:4\n5', { isWhole: false })).toBe('CSV, colon-separated');
  expect(told('a:b\n1:2\n3:4\n5')).toBe('CSV');
});
