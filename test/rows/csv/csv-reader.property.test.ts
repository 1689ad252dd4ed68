import { CsvError, type InfoRecord } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CsvDialect, LineEnd } from '../../../src/rows/csv/csv-dialect.ts';
import { createCsvReader } from '../../../src/rows/csv/csv-reader.ts';

interface Read {
  readonly cells: readonly string[];
  readonly endBytes: number;
  readonly lines: number;
}

/** What csv-parse finds, and whether it fails at the end. */
function readByParser(text: string, dialect: CsvDialect): readonly (Read | string)[] {
  const found: (Read | string)[] = [];
  try {
    parse(Buffer.from(text), {
      delimiter: dialect.delimiter,
      quote: dialect.quote,
      escape: dialect.escape || null,
      record_delimiter: [...dialect.lineEnds],
      relax_column_count: true,
      relax_quotes: true,
      on_record: (cells: string[], { bytes, lines }: InfoRecord) => {
        found.push({ cells, endBytes: bytes, lines });
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    found.push('never closed');
  }
  return found;
}

/** @param cuts where the bytes are cut into chunks */
function readByUs(
  text: string,
  dialect: CsvDialect,
  cuts: readonly number[],
): readonly (Read | string)[] {
  const found: (Read | string)[] = [];
  const bytes = Buffer.from(text);
  const reader = createCsvReader(dialect, (record) => {
    const cells = Array.from({ length: record.length }, (_, at) => record.cell(at));
    const { endBytes, lines, sizeBytes } = record;
    expect(record.raw()).toBe(bytes.toString('utf8', endBytes - sizeBytes, endBytes));
    expect([record.cell(-1), record.cell(record.length)]).toEqual(['', '']);
    found.push({ cells, endBytes, lines });
  });
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length].sort(
    (a, b) => a - b,
  );
  for (const [at, place] of places.entries()) {
    // A chunk of its own, as files give them: what is kept of it must be copied.
    const chunk = Buffer.from(bytes.subarray(places[at - 1] ?? 0, place));
    reader.write(chunk);
    chunk.fill(0x21);
  }
  try {
    reader.end();
  } catch {
    found.push('never closed');
  }
  return found;
}

const LINE_ENDS: readonly (readonly LineEnd[])[] = [
  ['\n'],
  ['\r\n', '\n'],
  ['\r\n'],
  ['\r'],
  ['\r\n', '\r', '\n'],
  ['\r\r\n', '\r\n', '\n'],
  ['\r\r\n'],
];
const dialects = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|', ' ', '€', '::'),
  quoting: fc.constantFrom(
    { quote: '"', escape: '"' } as const,
    { quote: '"', escape: '\\' } as const,
    { quote: "'", escape: "'" } as const,
    { quote: "'", escape: '\\' } as const,
    { quote: '"', escape: '' } as const,
    { quote: '', escape: '' } as const,
  ),
  lineEnds: fc.constantFrom(...LINE_ENDS),
});

function dialectOf(drawn: typeof dialects extends fc.Arbitrary<infer T> ? T : never): CsvDialect {
  const { delimiter, quoting, lineEnds } = drawn;
  return { delimiter, ...quoting, lineEnd: lineEnds[0] ?? '\n', lineEnds };
}

describe('the reader of CSV', () => {
  it('finds what csv-parse finds, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        dialects,
        fc.array(
          fc.constantFrom(
            'a',
            'bc',
            'é',
            '東',
            ' ',
            '"',
            '""',
            "'",
            '\\',
            '\r',
            '\n',
            '\r\n',
            'D',
            'D',
            '\0',
          ),
          { maxLength: 40 },
        ),
        fc.array(fc.nat(200), { maxLength: 6 }),
        (drawn, parts, cuts) => {
          const dialect = dialectOf(drawn);
          const text = parts.map((part) => (part === 'D' ? dialect.delimiter : part)).join('');
          expect(readByUs(text, dialect, cuts)).toEqual(readByParser(text, dialect));
        },
      ),
      { numRuns: 1_500 },
    );
  });

  it('finds it in long rows too', () => {
    fc.assert(
      fc.property(
        dialects,
        fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { minLength: 1, maxLength: 400 }),
        fc.array(fc.nat(4_000), { maxLength: 6 }),
        (drawn, cells, cuts) => {
          const dialect = dialectOf(drawn);
          const { quote, escape, delimiter, lineEnd } = dialect;
          const quoted = (cell: string): string =>
            quote === '' ? cell : quote + cell.replaceAll(quote, escape + quote) + quote;
          const row = cells.map((cell, at) => (at % 3 === 0 ? quoted(cell) : cell)).join(delimiter);
          const text = `${row}${lineEnd}${row}${lineEnd}${row}`;
          expect(readByUs(text, dialect, cuts)).toEqual(readByParser(text, dialect));
        },
      ),
      { numRuns: 100 },
    );
  });
});
