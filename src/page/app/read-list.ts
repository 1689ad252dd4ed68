import { z } from 'zod';
import { chooseDomainColumn } from '../../collector/choose-column.ts';
import { extensionBeside } from '../../collector/output/output-paths.ts';
import { BrandfillError } from '../../common/errors.ts';
import type { DomainColumn } from '../../rows/columns/domain-column.ts';
import { openList } from '../../rows/open-list.ts';
import { type RowFormat, splitExtension } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import { describeColumn } from '../../watch/describe.ts';

/** How a list is to be read. What is left out is found out. */
export const readingRequest = z.object({
  sheet: z.string().max(1_000).optional(),
  /** The column with the addresses, by name. */
  column: z.string().max(10_000).optional(),
  noHeader: z.boolean().optional(),
});

export type Reading = z.infer<typeof readingRequest>;

export interface ListPlace {
  readonly path: string;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/** Opens a list as it is to be read, for some work. */
export async function withList<T>(
  { path, spoolFolder, signal }: ListPlace,
  { sheet, noHeader }: Reading,
  work: (source: Source, format: RowFormat) => Promise<T>,
): Promise<T> {
  const opening = { prefix: 'brand_', noHeader, spoolFolder, signal, sheet };
  const list = await openList(path, opening);
  try {
    return await work(list.source, list.format);
  } finally {
    await list.close();
  }
}

const FIRST_ROWS = 8;
const LONGEST_CELL = 500;

/** A row as its file has it, with the number that an editor or Excel shows. */
export interface ShownRow {
  readonly number: number;
  readonly cells: readonly string[];
}

/** The first rows of a file, mostly without blank ones. */
export async function readFirst(
  source: Source,
  format: RowFormat,
  most: number,
  skipsBlank = true,
): Promise<readonly ShownRow[]> {
  const columns = format.columns.map((name, index) => ({ name, index }));
  const [first = { name: '', index: 0 }] = columns;
  const rows: ShownRow[] = [];
  for await (const batch of format.scan(source, first, columns)) {
    for (const { fields, isBlank, line, others = [] } of batch) {
      if (fields === 0 || (skipsBlank && isBlank)) continue;
      rows.push({ number: line, cells: others.map((text) => text.slice(0, LONGEST_CELL)) });
      if (rows.length === most) return rows;
    }
  }
  return rows;
}

/** Finds out what is in a list. */
export async function understand(place: ListPlace, reading: Reading) {
  return await withList(place, reading, async (source, format) => {
    const { workbook, columns } = format;
    const { column, problem } = findColumn(source, format, reading);
    return {
      reading,
      kind: format.notation.kind,
      extension: extensionBeside(splitExtension(source.name).extension, format),
      format: format.description,
      sheets: workbook?.sheets ?? [],
      sheet: workbook?.sheet,
      columns,
      column: column && { ...column, words: describeColumn(column) },
      problem,
      firstRows: await readFirst(source, format, FIRST_ROWS),
    };
  });
}

function findColumn(
  source: Source,
  format: RowFormat,
  { column: named }: Reading,
): { readonly column?: DomainColumn; readonly problem?: string } {
  try {
    const column = chooseDomainColumn(source, format, named);
    return column.index >= 0 ? { column } : { problem: NO_COLUMN };
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    return { problem: error.code === 'UNREADABLE_INPUT' ? NO_HEADER : NO_COLUMN };
  }
}

export const NO_COLUMN =
  'No column was found whose cells hold web addresses. Click the column that does. If there is none, this list cannot be looked up: add a column with the web address of each company.';
const NO_HEADER =
  'The first line seems to be a row already, and no names of columns. Say that the list has no header, or click the column with the web addresses if these are its names.';
