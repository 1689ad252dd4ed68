import { countOf } from '../../common/format.ts';
import { objectOf, shorten } from '../columns/names.ts';
import { createBelow } from '../columns/table.ts';
import { createCellsWriter, textOfCell } from '../csv/csv-writer.ts';
import { guardFormula } from '../csv/formula.ts';
import { LIST_FORMATS } from '../list-formats.ts';
import type { RowFormat, ScannedRow } from '../row-format.ts';
import { linesOf } from '../source.ts';
import {
  addressOfCell,
  contains,
  isFree,
  type SheetCell,
  textOfSheetCell,
  valueOfCell,
} from './cell.ts';
import { addressesIn } from './list-finder.ts';
import { lineOf, type OpenedWorkbook, type RowLine } from './open-workbook.ts';
import { assertRewritable, createWorkbookOutput } from './workbook-writer.ts';

/** The format of the list in a workbook. Its rows are lines of the spool. */
export function openXlsx(list: OpenedWorkbook): RowFormat {
  const { columns, headerRow, sheet, sheets, linkAt, head } = list;
  let domainIndex = -1;
  let guard = guardFormula;
  const isCovered = createCovered(list);

  /** The text that is looked up: in the domain column, a cell counts as the address that it links to. */
  function textAt(number: number, cell: SheetCell | undefined, index: number): string {
    return index === domainIndex
      ? addressOfCell(cell, linkAt(number, index))
      : textOfSheetCell(cell);
  }

  /** A text that was filled in came from the API, unlike the list's own. */
  function textsOf(raw: string): readonly string[] {
    const [number, , , , cells, filled = []] = JSON.parse(raw) as RowLine;
    return cells.map((cell, at) =>
      filled.includes(at) ? guard(textOfSheetCell(cell)) : textAt(number, cell, at),
    );
  }

  const headBytes = head.reduce((sum, row) => sum + Buffer.byteLength(lineOf(row)), 0);
  return {
    notation: LIST_FORMATS.xlsx,
    extension: '.xlsx',
    description: `XLSX, sheet '${sheet.name}', header in row ${headerRow}`,
    columns,
    sampleRows: addressesIn(list.sample, linkAt),
    headBytes,
    isTable: true,
    // In a table, `Brand_Status` is the same as `brand_status`.
    takenNames: new Set(
      list.tables.length === 0
        ? columns
        : columns.concat(columns.map((name) => name.toLowerCase())),
    ),
    scan: async function* (source, domainColumn, others = []) {
      const { index } = domainColumn;
      domainIndex = index;
      let before = headerRow;
      const isBelow = createBelow(domainColumn);
      const { ofList, others: otherTables } = tablesOf(list, index);
      const scanLine = (line: Buffer): ScannedRow => {
        const [number, , , , cells] = JSON.parse(line.toString()) as RowLine;
        const isBehind =
          ofList !== undefined && before <= ofList.lastRow && number > ofList.lastRow;
        const isApart = number - before > 1 || isBehind;
        before = number;
        const texts = cells.map((cell, at) => textAt(number, cell, at));
        const isOfOther = otherTables.some((table) => contains(table, number, index));
        const isOfList = ofList !== undefined && contains(ofList, number, index);
        return {
          line: number,
          cell: texts[index] ?? '',
          below: isOfOther || (isOfList ? undefined : isBelow(texts, isApart)),
          sizeBytes: line.length,
          fields: Math.max(columns.length, cells.length),
          others: others.map((other) => textOfSheetCell(cells[other.index])),
        };
      };
      for await (const lines of linesOf(source.read(headBytes), source.name))
        yield lines.map(scanLine);
    },
    createWriter: (added, { maxFields, keepsFormulas }) => {
      const write = createCellsWriter(',');
      const line = (own: readonly string[], values: readonly unknown[]): string => {
        const cells = Array.from(
          { length: Math.max(columns.length, maxFields) },
          (_, at) => own[at],
        );
        // The list's own cells are never changed, whatever they begin with.
        return `${write(cells, true)},${write(values, keepsFormulas)}\n`;
      };
      return {
        // Excel takes text without a mark for something else.
        header: `\uFEFF${line(columns, added)}`,
        row: (raw, _fields, values) => line(textsOf(raw), values),
      };
    },
    fillCell: (row, { index }, value, keeps = false) => {
      guard = keeps ? (text) => text : guardFormula;
      const [number, start, end, lastCell, cells, filled = []] = JSON.parse(row.raw) as RowLine;
      if (!isFree(cells[index]) || isCovered(number, index)) return undefined;
      if (textOfCell(value) === '') return row;
      const own = [...cells];
      while (own.length < index) own.push(null);
      own[index] =
        typeof value === 'number' || typeof value === 'boolean' ? value : textOfCell(value);
      const columns = [...filled, index].sort((one, other) => one - other);
      const line: RowLine = [number, start, end, lastCell, own, columns];
      return { ...row, raw: `${JSON.stringify(line)}\n` };
    },
    textOf: textOfCell,
    cellOf: (raw, { index }) => textsOf(raw)[index] ?? '',
    notices: describeCells(list),
    workbook: {
      sheet: sheet.name,
      sheets,
      otherLists: list.otherLists,
      headerRow,
    },
    binary: {
      assertRewritable: () => assertRewritable(list),
      begin: (added, write) => createWorkbookOutput(list, added, domainIndex, write),
    },
    toObject: (raw) => {
      const [number, , , , cells] = JSON.parse(raw) as RowLine;
      const values = cells.map((cell, at) => {
        const text = textAt(number, cell, at);
        return text === textOfSheetCell(cell) ? valueOfCell(cell) : text; // it is linked
      });
      return objectOf(columns, values, null);
    },
  };
}

/** What is not seen of cells, and of other sheets. */
function describeCells({ frame, otherLists, sheet }: OpenedWorkbook): readonly string[] {
  const { uncalculated, rich } = frame;
  const save = 'open the workbook in a spreadsheet program and save it';
  const [other] = otherLists;
  return [
    uncalculated > 0 &&
      `${countOf(uncalculated, 'formula has', 'formulas have')} no value yet, and count as blank: ${save} to have them calculated.`,
    rich > 0 &&
      `${countOf(rich, 'cell has', 'cells have')} linked data or a picture that only Excel shows, and the error #VALUE! for all other programs: where that is the domain, ${save.replace('save it', 'paste it as a text')}.`,
    other &&
      `The sheet '${shorten(other.sheet)}' has domains in its column '${shorten(other.column)}' too: if that is the list, and not '${shorten(sheet.name)}', take it with --sheet.`,
  ].filter((text) => typeof text === 'string');
}

/** The table that the list is in, if any, and others with the same column below it. */
function tablesOf({ tables, headerRow }: OpenedWorkbook, column: number) {
  const here = tables.filter(
    ({ firstColumn, lastColumn }) => firstColumn <= column && column <= lastColumn,
  );
  const ofList = here.find((table) => contains(table, headerRow, column));
  return { ofList, others: here.filter(({ firstRow }) => firstRow > headerRow) };
}

/** Makes a function that tells whether a cell is the hidden part of a merged one. */
function createCovered({ frame }: OpenedWorkbook): (row: number, column: number) => boolean {
  const rowsOf = new Map<number, Set<number>>();
  return (row, column) => {
    const rows = rowsOf.get(column) ?? new Set();
    if (!rowsOf.has(column)) {
      for (const { firstRow, lastRow, firstColumn, lastColumn } of frame.merges) {
        if (column < firstColumn || column > lastColumn) continue;
        const first = column === firstColumn ? firstRow + 1 : firstRow;
        for (let covered = first; covered <= lastRow; covered += 1) rows.add(covered);
      }
      rowsOf.set(column, rows);
    }
    return rows.has(row);
  };
}
