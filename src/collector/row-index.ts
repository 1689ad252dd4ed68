import type { FileHandle } from 'node:fs/promises';
import { readFrom } from '../rows/source.ts';
import { openSpool, writeAll } from '../rows/spool.ts';

/**
 * What the first reading learned about a row. `due`: its domain has to be looked up; `known`: the
 * store has a fresh outcome of its domain; `invalid`: it has no domain; `passed`: it is left as it
 * is; `blank`: it is no row but an empty line.
 */
export type IndexedKind = 'due' | 'known' | 'invalid' | 'passed' | 'blank';

export interface IndexedRow {
  readonly kind: IndexedKind;
  /** The length of the row in the input in bytes, including the line end. */
  readonly sizeBytes: number;
  /** The number of its cells. */
  readonly fields: number;
  /** The domain of a row, empty for none; the reason of an `invalid` one. */
  readonly text: string;
  /** Whether it is the first row of its domain in the list. @default false */
  readonly isFirst?: boolean | undefined;
  /**
   * What identifies the row from night to night, as hexadecimal digits; empty when only its domain
   * does.
   */
  readonly key?: string | undefined;
}

/**
 * One entry per row of the input, in its order, in an unnamed file. With it the second reading need
 * not parse: it cuts the input where the index says and appends to each piece.
 */
export type RowIndex = Awaited<ReturnType<typeof createRowIndex>>;

/** Whether it is a row with a domain that the run is about. */
export function hasDomain({ kind }: Pick<IndexedRow, 'kind'>): boolean {
  return kind === 'due' || kind === 'known';
}

/** An index as somebody sees it for whom its rows are others. */
export function viewOf(
  index: Pick<RowIndex, 'read'>,
  see: (row: IndexedRow) => IndexedRow,
): Pick<RowIndex, 'read'> {
  return {
    read: async function* () {
      for await (const rows of index.read()) yield rows.map(see);
    },
  };
}

const MARKS = { due: '?', known: '=', invalid: '!', passed: '>', blank: '.' } as const;
/** Behind the mark; no domain begins so. */
const FIRST = '*';
const KINDS = new Map(Object.entries(MARKS).map(([kind, mark]) => [mark, kind as IndexedKind]));
/** Both are small, so that the garbage collector frees what is made of them while it is young. */
const READ_BYTES = 32 * 1024;
const ROWS_IN_BATCH = 200;

/** Creates an empty index in a folder. */
export async function createRowIndex(folder: string) {
  const entries = await openSpool(folder);
  return {
    append: async (rows: readonly IndexedRow[]): Promise<void> => {
      let lines = '';
      for (const { sizeBytes, fields, kind, text, isFirst, key = '' } of rows) {
        const mark = isFirst ? MARKS[kind] + FIRST : MARKS[kind];
        lines += `${sizeBytes} ${fields} ${mark}${text}${key === '' ? '' : ` ${key}`}\n`;
      }
      if (lines !== '') await writeAll(entries, Buffer.from(lines, 'latin1'), folder);
    },
    /** Reads all entries from the start, in batches. */
    read: (): AsyncIterable<readonly IndexedRow[]> => readEntries(entries),
    close: (): Promise<void> => entries.close(),
  };
}

async function* readEntries(handle: FileHandle): AsyncGenerator<readonly IndexedRow[]> {
  let rest = '';
  for await (const chunk of readFrom(0, handle, READ_BYTES)) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (let at = 0; at < lines.length; at += ROWS_IN_BATCH)
      yield lines.slice(at, at + ROWS_IN_BATCH).map(parseEntry);
  }
}

function parseEntry(line: string): IndexedRow {
  const afterSize = line.indexOf(' ');
  const afterFields = line.indexOf(' ', afterSize + 1);
  const isFirst = line[afterFields + 2] === FIRST;
  const textAt = afterFields + (isFirst ? 3 : 2);
  const afterText = line.indexOf(' ', textAt);
  return {
    sizeBytes: Number(line.slice(0, afterSize)),
    fields: Number(line.slice(afterSize + 1, afterFields)),
    kind: KINDS.get(line.charAt(afterFields + 1) as '?') ?? 'blank',
    text: line.slice(textAt, afterText === -1 ? undefined : afterText),
    isFirst,
    key: afterText === -1 ? undefined : line.slice(afterText + 1),
  };
}
