import { uniqueNames } from '../columns/names.ts';
import { textOfCell } from '../csv/csv-writer.ts';
import type { ByteSource, RowColumn, RowFormat, ScannedRow } from '../row-format.ts';
import { linesOf, skip } from '../source.ts';
import { addressOfCell, type SheetCell, textOfSheetCell, valueOfCell } from './cell.ts';
import { lineOf, type OpenedWorkbook, type RowLine, sampleOf } from './open-workbook.ts';
import { assertRewritable, createWorkbookOutput } from './workbook-writer.ts';

/** The format of the list in a workbook. Its rows are lines of the spool. */
export function openXlsx(list: OpenedWorkbook): RowFormat {
  const { place, sheet, sheets, linkAt, head } = list;
  const { columns, headerRow } = place;
  let domainIndex = -1;

  /** The text that is looked up: in the domain column, a cell counts as the address that it links to. */
  function textAt(number: number, cell: SheetCell | undefined, index: number): string {
    return index === domainIndex
      ? addressOfCell(cell, linkAt(number, index))
      : textOfSheetCell(cell);
  }

  const headBytes = head.reduce((sum, row) => sum + Buffer.byteLength(lineOf(row)), 0);
  return {
    kind: 'xlsx',
    extension: '.xlsx',
    description: `XLSX, sheet '${sheet.name}', header in row ${headerRow}`,
    columns,
    sampleRows: sampleOf(list),
    headBytes,
    isTable: true,
    takenNames: new Set(columns),
    scan: (source, domainColumn, others = []) => {
      domainIndex = domainColumn.index;
      return scan(source, { list, headBytes, domainColumn, others });
    },
    createWriter: () => {
      throw new TypeError('a workbook is written by `beginOutput`');
    },
    textOf: textOfCell,
    textsOf: (raw) => {
      const [number, , , , cells] = JSON.parse(raw) as RowLine;
      return cells.map((cell, at) => textAt(number, cell, at));
    },
    workbook: {
      sheet: sheet.name,
      sheets,
      headerRow,
      assertRewritable: () => assertRewritable(list),
      beginOutput: (added, write) =>
        createWorkbookOutput({ list, added, write, domainColumn: domainIndex }),
    },
    toObject: (raw) => {
      const [number, , , , cells] = JSON.parse(raw) as RowLine;
      const width = Math.max(columns.length, cells.length);
      const names = Array.from({ length: width }, (_, at) => columns[at] || `column_${at + 1}`);
      return Object.fromEntries(
        uniqueNames(names).map((name, at) => {
          const isLinked =
            at === domainIndex && textAt(number, cells[at], at) !== textOfSheetCell(cells[at]);
          return [name, isLinked ? textAt(number, cells[at], at) : valueOfCell(cells[at])];
        }),
      );
    },
  };
}

interface ScanOptions {
  readonly list: OpenedWorkbook;
  readonly headBytes: number;
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
}

async function* scan(
  source: ByteSource,
  { list, headBytes, domainColumn, others }: ScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  const { index } = domainColumn;
  const scanLine = (line: Buffer): ScannedRow => {
    const [number, , , , cells] = JSON.parse(line.toString()) as RowLine;
    return {
      line: number,
      cell: addressOfCell(cells[index], list.linkAt(number, index)),
      sizeBytes: line.length,
      fields: Math.max(list.place.columns.length, cells.length),
      others: others.map((other) => textOfSheetCell(cells[other.index])),
    };
  };
  for await (const lines of linesOf(skip(source.read(), headBytes))) yield lines.map(scanLine);
}
