import { objectOf } from '../columns/names.ts';
import { createCellsWriter, textOfCell } from '../csv/csv-writer.ts';
import { guardFormula } from '../csv/formula.ts';
import type { RowFormat, ScannedRow } from '../row-format.ts';
import { linesOf } from '../source.ts';
import { addressOfCell, isFree, type SheetCell, textOfSheetCell, valueOfCell } from './cell.ts';
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
    kind: 'xlsx',
    endings: /^\.(?:xlsx|xlsm|xltx|xltm)(?:\.gz)?$/i,
    extension: '.xlsx',
    description: `XLSX, sheet '${sheet.name}', header in row ${headerRow}`,
    columns,
    sampleRows: addressesIn(list.sample, linkAt),
    headBytes,
    isTable: true,
    takenNames: new Set(columns),
    scan: async function* (source, { index }, others = []) {
      domainIndex = index;
      const scanLine = (line: Buffer): ScannedRow => {
        const [number, , , , cells] = JSON.parse(line.toString()) as RowLine;
        return {
          line: number,
          cell: textAt(number, cells[index], index),
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
    workbook: {
      sheet: sheet.name,
      sheets,
      headerRow,
      assertRewritable: () => assertRewritable(list),
      beginOutput: (added, write) => createWorkbookOutput(list, added, domainIndex, write),
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
