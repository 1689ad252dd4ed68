import type { FileHandle } from 'node:fs/promises';
import { BrandfillError } from '../../common/errors.ts';
import { shorten } from '../columns/names.ts';
import { findOtherArchive } from '../other-formats.ts';
import { type SpoolOptions, spool } from '../spool.ts';
import { addressOfCell, type Range, type SheetCell } from './cell.ts';
import { createListFinder, createRangeIndex, type FoundList, type LinkAt } from './list-finder.ts';
import {
  asBroken,
  brokenWorkbook,
  normalizePath,
  openPackage,
  type Package,
  readRelations,
  readWorkbookParts,
  type SheetPart,
  tooLarge,
} from './package.ts';
import { NO_STRINGS, readSharedStrings } from './shared-strings.ts';
import { readSheet, type SheetFrame, type SheetOptions, type SheetRow } from './sheet-reader.ts';
import { type CellStyle, readStyles } from './styles.ts';
import { readTables, type SheetTable } from './tables.ts';

/** A list that was found in a workbook. */
export interface OpenedList extends FoundList {
  readonly pack: Package;
  /** The names of all sheets. */
  readonly sheets: readonly string[];
  /** The sheet of the list. */
  readonly sheet: SheetPart;
  readonly frame: SheetFrame;
  readonly tables: readonly SheetTable[];
  readonly styles: readonly CellStyle[];
  /** The target of a cell's link. */
  readonly linkAt: LinkAt;
}

export interface OpenWorkbookOptions extends SpoolOptions {
  readonly name: string;
  /** The sheet of the list. @default the first that is visible and not empty */
  readonly sheet: string | undefined;
}

const MOST_LISTED = 30;

/**
 * A row as it is kept between the two readings, as a line of JSON: its number, its place in the bytes
 * of the sheet, the column of its last cell, its contents, and what was filled in by its column.
 */
export type RowLine = [
  number: number,
  start: number,
  end: number,
  lastCell: number,
  cells: readonly SheetCell[],
  filled?: readonly (readonly [column: number, value: unknown])[],
];

export function lineOf({ number, start, end, lastCell, cells }: SheetRow): string {
  const line: RowLine = [number, start, end, lastCell, cells];
  return `${JSON.stringify(line)}\n`;
}

/**
 * Finds the list in a workbook and writes its rows, a line each, into a file without a name.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, empty or would blow up,
 * `INVALID_SETTING` when there is no such sheet
 */
export async function openWorkbook(
  handle: FileHandle,
  options: OpenWorkbookOptions,
): Promise<{ readonly list: OpenedList; readonly rows: FileHandle }> {
  const { name, signal } = options;
  try {
    const pack = await openPackage(handle, name);
    const other = findOtherArchive(pack.paths.map(normalizePath));
    if (other !== undefined) {
      throw new BrandfillError('UNREADABLE_INPUT', `Cannot read ${name}: it is ${other}.`);
    }
    const parts = await readWorkbookParts(pack);
    const { stringsPath, stylesPath, is1904 } = parts;
    const candidates = chooseSheets(parts.sheets, options);
    const strings =
      stringsPath === undefined ? NO_STRINGS : await readSharedStrings(pack.read(stringsPath));
    const styles = stylesPath === undefined ? [] : readStyles(await pack.readText(stylesPath));
    const context = { strings, styles, is1904 };
    const sheets = parts.sheets.map((sheet) => sheet.name);
    for (const sheet of candidates) {
      const reading = await beginSheet(pack, sheet, context);
      const { handle: rows } = await spool(reading.lines(), options);
      const found = await closeUnless(rows, () => reading.finish());
      if (found) return { list: { pack, sheet, sheets, styles, ...found }, rows };
    }
    const [{ name: first } = { name: '' }, ...more] = candidates;
    const what = more.length > 0 ? 'all of its sheets are' : `its sheet '${shorten(first)}' is`;
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${name}: ${what} empty; expected a header and rows.`,
    );
  } catch (error) {
    if (signal.aborted) throw error;
    throw error instanceof RangeError ? tooLarge(name, error.message) : asBroken(name, error);
  }
}

/** Closes a spool when there is nothing in it. */
async function closeUnless<T>(rows: FileHandle, find: () => T | undefined): Promise<T | undefined> {
  let found: T | undefined;
  try {
    found = find();
    return found;
  } finally {
    if (found === undefined) await rows.close();
  }
}

/**
 * The sheet that was named; else the visible ones, of which the first that is not empty is taken.
 */
function chooseSheets(
  sheets: readonly SheetPart[],
  { name, sheet: wanted }: OpenWorkbookOptions,
): readonly SheetPart[] {
  if (sheets.length === 0) throw brokenWorkbook(name, 'there is no sheet in it');
  if (wanted === undefined) {
    const visible = sheets.filter(({ isHidden }) => !isHidden);
    return visible.length > 0 ? visible : sheets;
  }
  const folded = wanted.trim().toLowerCase();
  const found =
    sheets.find((sheet) => sheet.name === wanted) ??
    sheets.find((sheet) => sheet.name.trim().toLowerCase() === folded);
  if (found) return [found];
  const names = sheets.map((sheet) => `${shorten(sheet.name)}${sheet.isHidden ? ' (hidden)' : ''}`);
  const more = names.length - MOST_LISTED;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot find the sheet '${wanted}' in ${name}: there are: ${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`,
  );
}

/** A sheet that is being read. */
interface SheetReading {
  /** The rows with text, as lines of a spool. */
  lines(): AsyncGenerator<string>;
  /** What was found in them; undefined for an empty sheet. */
  finish(): FoundSheet | undefined;
}

interface FoundSheet extends FoundList, Pick<OpenedList, 'frame' | 'tables' | 'linkAt'> {}

async function beginSheet(
  pack: Package,
  { path }: SheetPart,
  context: SheetOptions,
): Promise<SheetReading> {
  const relations = await readRelations(pack, path);
  const targets = new Map(
    relations
      .filter(({ kind, isExternal }) => kind === 'hyperlink' && isExternal)
      .map(({ id, target }) => [id, target]),
  );
  const tables = await readTables(pack, path);
  const totals = new Map(tables.map((table) => [table.totalsRow, table]));
  const finder = createListFinder();
  const frame: SheetFrame = { prefix: '', merges: [], links: [], columns: [] };

  /** Whether a row contains only the totals of a table. */
  function isTotals({ number, cells, lastContent }: SheetRow): boolean {
    const table = totals.get(number);
    if (!table) return false;
    const first = cells.findIndex((cell) => cell !== null);
    return first >= table.firstColumn && lastContent <= table.lastColumn;
  }

  return {
    lines: async function* () {
      for await (const rows of readSheet(pack.read(path), frame, context)) {
        let text = '';
        for (const row of rows) {
          const isListed = row.hasText && !isTotals(row);
          finder.add(isListed ? row : { ...row, hasText: false });
          if (!isListed) continue;
          text += lineOf(row);
        }
        if (text !== '') yield text;
      }
    },
    finish: () => {
      const linked: (Range & { readonly target: string })[] = [];
      for (const { range, id } of frame.links) {
        const target = targets.get(id);
        if (target !== undefined) linked.push({ ...range, target });
      }
      const findLink = createRangeIndex(linked);
      const linkAt: LinkAt = (row, column) => findLink(row, column)?.target;
      const found = finder.finish(frame, linkAt);
      return found && { ...found, frame, tables, linkAt };
    },
  };
}

/** The first rows, with the texts that are looked up. */
export function sampleOf({
  sample,
  place,
  linkAt,
}: Pick<OpenedList, 'sample' | 'place' | 'linkAt'>): readonly (readonly string[])[] {
  const { firstColumn } = place;
  return sample.map(({ cells, number }) =>
    cells
      .slice(firstColumn)
      .map((cell, at) => addressOfCell(cell, linkAt(number, firstColumn + at))),
  );
}
