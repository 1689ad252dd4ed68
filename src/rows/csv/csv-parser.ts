import { CsvError, type InfoRecord, type Options, type Parser, parse } from 'csv-parse';
import type { CsvDialect } from './csv-dialect.ts';

/** 32 MB: a quote that is never closed would swallow the rest of the file; no real row is this long. */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;

/**
 * Options that make csv-parse read a dialect. Rows may be ragged, and quotes within a cell are
 * text.
 */
export function parserOptions({ delimiter, quote, escape, lineEnds }: CsvDialect): Options {
  return {
    delimiter,
    quote: quote === '' ? null : quote,
    escape: escape === '' ? null : escape,
    record_delimiter: [...lineEnds],
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: MAX_RECORD_BYTES,
  };
}

/** Reads CSV piece by piece. */
export interface CsvReader {
  /**
   * Reads on. Before it resolves, `onRecord` was called for all records that end in these bytes.
   */
  write(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
  /** The number of cells read so far of the record that has not ended yet. */
  openCells(): number;
  close(): void;
}

/**
 * @param onRecord called with each record: its cells, where it ends in bytes, and the number of
 * line ends before that place; anything it throws is thrown by `write`
 */
export function createCsvReader(
  dialect: CsvDialect,
  onRecord: (cells: string[], endBytes: number, lines: number) => void,
): CsvReader {
  const parser = parse({
    ...parserOptions(dialect),
    on_record: (cells: string[], { bytes, lines }: InfoRecord) => {
      onRecord(cells, bytes, lines);
      return null; // nothing goes through the stream: one object at a time would halve the speed
    },
  });
  parser.on('error', () => {}); // reported by the write that met it
  parser.resume();
  return {
    write: (bytes) => write(parser, bytes),
    end: () => end(parser),
    openCells: () => (parser as ParserWithState).state.record.length,
    close: () => parser.destroy(),
  };
}

/** Internals of csv-parse that its types leave out: a record without end fills the memory. */
type ParserWithState = Parser & { readonly state: { readonly record: readonly string[] } };

function write(parser: Parser, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

function end(parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once('error', reject);
    parser.end(resolve);
  });
}

/** Describes in our words the fault that the parser found in a row. */
export function describeFault(error: unknown): string | undefined {
  if (!(error instanceof CsvError)) return undefined;
  return FAULTS[error.code] ?? error.message;
}

const FAULTS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED:
    'a quote is opened in this row and never closed; close it, or double it ("") if it is part of the text',
  CSV_MAX_RECORD_SIZE:
    'this row does not end within 32 MB; a quote that is opened in it is probably never closed',
};
