import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCsvFiller } from '../../../src/rows/csv/csv-writer.ts';
import { createJsonlFiller } from '../../../src/rows/jsonl.ts';
import { dialectOf } from '../sources.ts';

const cell = fc.oneof(
  fc.constantFrom('', '', ' ', '\t ', 'x', '"', 'a"b', ',', ';', '\n', ' x '),
  fc.string({ maxLength: 4 }),
);
const row = fc.record({
  cells: fc.array(fc.tuple(cell, fc.boolean()), { minLength: 1, maxLength: 6 }),
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  lineEnd: fc.constantFrom('\n', '\r\n', ''),
  index: fc.nat(7),
  value: fc.constantFrom('v', 'a,b;c', '"q"', '=1', 'two\nlines', '', undefined, 7),
});

/** A cell as it stands in a file. */
function rawOf([text, isQuoted]: readonly [string, boolean], delimiter: string): string {
  return isQuoted || /["\r\n]/.test(text) || text.includes(delimiter)
    ? `"${text.replaceAll('"', '""')}"`
    : text;
}

describe('createCsvFiller', () => {
  it('fills a blank cell of any row, and leaves the others as they stand', () => {
    fc.assert(
      fc.property(row, ({ cells, delimiter, lineEnd, index, value }) => {
        const raws = cells.map((cell) => rawOf(cell, delimiter));
        const raw = raws.join(delimiter) + lineEnd;
        const filler = createCsvFiller([{ index, name: 'c' }], dialectOf({ delimiter }));
        const filled = filler.fill(raw, cells.length, [value]);
        const isFilled =
          value !== undefined && value !== '' && (cells[index]?.[0] ?? '').trim() === '';
        expect(filled.filled).toEqual(isFilled ? [0] : []);
        if (!isFilled) {
          expect(filled).toEqual({ raw, fields: cells.length, filled: [] });
          return;
        }
        const next = [...raws, ...Array<string>(Math.max(0, index - raws.length)).fill('')];
        const harmless = value === '=1' ? `'=1` : String(value);
        next[index] = rawOf([harmless, false], delimiter);
        expect(filled.raw).toBe(next.join(delimiter) + lineEnd);
        expect(filled.fields).toBe(next.length);
        const [parsed] = parse(filled.raw, { delimiter, record_delimiter: ['\r\n', '\n'] });
        expect(parsed?.[index]).toBe(harmless);
      }),
      { numRuns: 200 },
    );
  });

  it('fills several at once', () => {
    const columns = [
      { index: 4, name: 'e' },
      { index: 0, name: 'a' },
      { index: 1, name: 'b' },
    ];
    const filler = createCsvFiller(columns, dialectOf({ delimiter: ';' }));
    expect(filler.fill(';x;"c;"\r\n', 3, ['E', 'A', 'B'])).toEqual({
      raw: 'A;x;"c;";;E\r\n',
      fields: 5,
      filled: [0, 1],
    });
  });
});

describe('a filler that replaces', () => {
  it.each([
    ['acme;x;"a;b"\r\n', 'b.com', 'acme;b.com;"a;b"\r\n'],
    ['acme\n', 'b;c', 'acme;"b;c"\n'],
  ])('puts a value into a CSV cell that has one: %j', (raw, value, replaced) => {
    const filler = createCsvFiller([{ index: 1, name: 'b' }], dialectOf({ delimiter: ';' }), true);
    expect(filler.fill(raw, 3, [value]).raw).toBe(replaced);
    expect(filler.fill(raw, 3, [undefined]).raw).toBe(raw);
  });

  it.each([
    ['{"a":"x", "b":1.0}\n', '{"a":"v", "b":1.0}\n'],
    ['{"a":{"c":1}}', '{"a":"v"}'],
    ['{}', '{"a":"v"}'],
  ])('puts a value into a member that has one: %s', (raw, replaced) => {
    const filler = createJsonlFiller([{ index: -1, name: 'a' }], true);
    expect(filler.fill(raw, 1, ['v']).raw).toBe(replaced);
  });
});

describe('createJsonlFiller', () => {
  const fill = (raw: string, value: unknown, name = 'a'): string =>
    createJsonlFiller([{ index: -1, name }]).fill(raw, 1, [value]).raw;

  it.each([
    ['{"b":1.0, "a" : null}\n', '{"b":1.0, "a" : "v"}\n'],
    ['{"a":"" ,"b":"\\u00e9"}\r\n', '{"a":"v" ,"b":"\\u00e9"}\r\n'],
    [' { "b" : 1 } ', ' { "b" : 1,"a":"v"} '],
    ['{}', '{"a":"v"}'],
    ['{"a":1,"a":null}', '{"a":1,"a":"v"}'],
    ['{"b":{"a":""},"\\u0061":""}', '{"b":{"a":""},"\\u0061":"v"}'],
  ])('fills what is absent, null or empty: %s', (raw, filled) => {
    expect(fill(raw, 'v')).toBe(filled);
  });

  it.each(['{"a":0}', '{"a":false}', '{"a":" "}', '{"a":[]}', '{"a":{}}', '{"a":"","a":"x"}'])(
    'leaves what is there: %s',
    (raw) => {
      expect(fill(raw, 'v')).toBe(raw);
    },
  );

  it('fills structures, and names of any kind, and nothing with nothing', () => {
    expect(fill('{"x":1}', { d: [1] }, '__proto__')).toBe('{"x":1,"__proto__":{"d":[1]}}');
    for (const value of [null, '', [], undefined])
      expect(fill('{"a":null}', value)).toBe('{"a":null}');
  });

  it('leaves the rest of any object as it is', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, space) => {
        const raw = JSON.stringify(object, null, ' '.repeat(space)).replaceAll('\n', ' ');
        const filled = JSON.parse(fill(raw, 'v')) as Record<string, unknown>;
        const isBlank = !Object.hasOwn(object, 'a') || object['a'] === null || object['a'] === '';
        expect(filled).toEqual(
          JSON.parse(JSON.stringify(isBlank ? { ...object, a: 'v' } : object)),
        );
      }),
      { numRuns: 150 },
    );
  });
});
