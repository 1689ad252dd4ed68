import type { FileHandle } from 'node:fs/promises';
import type { RowBytes } from '../rows/row-format.ts';
import { openSpool, readFromStart, writeAll } from '../rows/spool.ts';

/**
 * What the first reading learned about a row. `due`: its domain has to be looked up; `known`: the
 * store has a fresh outcome of its domain; `invalid`: it has no domain; `blank`: it is not a row but
 * an empty line, or one of nothing but delimiters if it has cells; `written`: it is in the output
 * already.
 */
export type IndexedKind = 'due' | 'known' | 'invalid' | 'blank' | 'written';

export interface IndexedRow {
  readonly kind: IndexedKind;
  /**
   * The length of the row in the input, including the line end; of `written` rows, their length in
   * the output.
   */
  readonly sizeBytes: number;
  /** The number of its cells; of `written` rows, how many rows they are. */
  readonly fields: number;
  /**
   * The domain of a `due` or `known` row, or the reason of an `invalid` one. Empty for `written` rows
   * of which nothing more is asked.
   */
  readonly text: string;
  /** A note on the row for when it is written, of letters, digits and `:` only. */
  readonly note?: string | undefined;
}

/**
 * One entry per row of the input, in its order, in an unnamed file. With it the second reading need
 * not parse: it cuts the input where the index says and appends to each piece. `written` rows without
 * a text that follow each other share one entry.
 */
export interface RowIndex {
  /** @param bytes where the same rows are, in an index that keeps them */
  append(rows: readonly IndexedRow[], bytes?: readonly RowBytes[]): Promise<void>;
  /** Must be called after the last row. */
  end(): Promise<void>;
  /** Reads all entries from the start, in batches. */
  read(): AsyncIterable<readonly IndexedRow[]>;
  /** Reads all rows that are not `written`, in an index that keeps them. */
  readonly readRows: () => AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export interface RowIndexOptions {
  /** Whether to keep the rows that are not `written`, so that the list is read only once. @default false */
  readonly keepsRows?: boolean;
}

const MARKS = { due: '?', known: '=', invalid: '!', blank: '.', written: '>' } as const;
const KINDS = new Map(Object.entries(MARKS).map(([kind, mark]) => [mark, kind as IndexedKind]));
/**
 * Some 200 rows. Small, so that the garbage collector frees what is made of a batch while it is
 * young.
 */
const READ_BYTES = 8 * 1024;
const READ_ROWS_BYTES = 256 * 1024;

/** Creates an empty index in a folder. */
export async function createRowIndex(
  folder: string,
  { keepsRows = false }: RowIndexOptions = {},
): Promise<RowIndex> {
  const entries = await openSpool(folder);
  const kept = keepsRows ? await openSpool(folder) : undefined;
  let written = 0;
  let writtenBytes = 0;

  function lineOf({ sizeBytes, fields, kind, text, note = '' }: IndexedRow): string {
    return `${sizeBytes} ${fields} ${MARKS[kind]}${text}${note === '' ? '' : ` ${note}`}\n`;
  }

  function takeWritten(): string {
    if (written === 0) return '';
    const line = lineOf({ kind: 'written', sizeBytes: writtenBytes, fields: written, text: '' });
    written = 0;
    writtenBytes = 0;
    return line;
  }

  return {
    append: async (rows, bytes = []) => {
      let lines = '';
      const others: RowBytes[] = [];
      let at = -1;
      for (const row of rows) {
        at += 1;
        if (row.kind === 'written' && row.text !== '') {
          lines += lineOf(row);
          continue;
        }
        if (row.kind === 'written') {
          written += row.fields;
          writtenBytes += row.sizeBytes;
          continue;
        }
        lines += takeWritten() + lineOf(row);
        const here = bytes[at];
        if (here) others.push(here);
      }
      if (lines === '') return;
      // Before anything is awaited: the bytes are there only until then.
      const copy = kept && gather(others);
      await writeAll(entries, Buffer.from(lines, 'latin1'), folder);
      if (kept && copy) await writeAll(kept, copy, folder);
    },
    end: async () => writeAll(entries, Buffer.from(takeWritten(), 'latin1'), folder),
    read: () => readEntries(entries),
    readRows: () => {
      if (!kept) throw new TypeError('this index keeps no rows');
      return readFromStart(kept, READ_ROWS_BYTES);
    },
    close: async () => {
      await entries.close();
      await kept?.close();
    },
  };
}

function gather(rows: readonly RowBytes[]): Buffer {
  const sizeBytes = rows.reduce((sum, row) => sum + row.sizeBytes, 0);
  const all = Buffer.allocUnsafe(sizeBytes);
  let at = 0;
  for (const row of rows) at += row.bytes.copy(all, at, row.start, row.start + row.sizeBytes);
  return all;
}

async function* readEntries(handle: FileHandle): AsyncGenerator<readonly IndexedRow[]> {
  let rest = '';
  for await (const chunk of readFromStart(handle, READ_BYTES)) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    yield lines.map(parseEntry);
  }
}

function parseEntry(line: string): IndexedRow {
  const afterSize = line.indexOf(' ');
  const afterFields = line.indexOf(' ', afterSize + 1);
  const afterText = line.indexOf(' ', afterFields + 2);
  return {
    sizeBytes: Number(line.slice(0, afterSize)),
    fields: Number(line.slice(afterSize + 1, afterFields)),
    kind: KINDS.get(line.charAt(afterFields + 1) as '?') ?? 'blank',
    text: line.slice(afterFields + 2, afterText === -1 ? undefined : afterText),
    note: afterText === -1 ? undefined : line.slice(afterText + 1),
  };
}
