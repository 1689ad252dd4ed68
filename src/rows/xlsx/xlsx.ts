import { shorten, uniqueNames } from '../columns/names.ts';
import { textOfCell, withoutFormula } from '../csv/csv-writer.ts';
import type { RowColumn, RowFormat, ScannedRow } from '../row-format.ts';
import type { Source } from '../source.ts';
import { addressOfSheetCell, type SheetCell, textOfSheetCell, valueOfSheetCell } from './cell.ts';
import type { Workbook } from './open-workbook.ts';
import { CUT_BYTE, END_BYTE, isHiddenRow, readCells, readRowXml } from './row-line.ts';
import { createSheetFiller } from './row-xml.ts';
import { createInPlaceWriter } from './sheet-writer.ts';

/** The format of the list in a workbook. Its rows are lines of the spool. */
export function openXlsx(workbook: Workbook): RowFormat {
  const { columns, place, sheet, sampleRows } = workbook;
  /** In the domain column, a cell counts as the address that it links to. */
  let domainIndex = -1;
  const textsOf = (raw: string): readonly string[] =>
    readCells(raw).map((cell, at) =>
      at === domainIndex ? addressOfSheetCell(cell) : textInCsv(cell),
    );
  return {
    kind: 'xlsx',
    extension: '.xlsx',
    description: `XLSX, sheet '${sheet.name}', header in row ${place.header.number}`,
    columns,
    sampleRows,
    headBytes: 0,
    isTable: true,
    takenNames: new Set(columns),
    workbook,
    notices: describeRows(workbook),
    noticesOf: ({ index }) => describeBelowTable(workbook, place.firstColumn + index),
    isHidden: (raw) => isHiddenRow(readRowXml(raw).xml),
    scan: (source, domainColumn, others = []) => {
      domainIndex = domainColumn.index;
      return scan(source, { domainColumn, others, width: columns.length });
    },
    createWriter: (added, { maxFields }) =>
      createInPlaceWriter(workbook, {
        added,
        width: Math.max(columns.length, maxFields),
        column: { index: domainIndex },
      }),
    createFiller: (filled) => createSheetFiller(filled, workbook),
    ownPart: () => {
      throw new TypeError('workbooks are not merged');
    },
    textOf: textOfCell,
    textsOf,
    cellsOf: readCells,
    toObject: (raw) => {
      const cells = readCells(raw);
      const width = Math.max(columns.length, cells.length);
      const names = Array.from({ length: width }, (_, at) => columns[at] || `column_${at + 1}`);
      return Object.fromEntries(
        uniqueNames(names).map((name, at) => [name, valueOf(cells[at], at === domainIndex)]),
      );
    },
  };
}

/** What the user should know about its rows before anything is paid for. */
function describeRows({ found, frame, tables, otherLists, sheet }: Workbook): readonly string[] {
  const { rows, hidden, leftOut, uncalculated } = found;
  const notices: string[] = [];
  const [other] = otherLists;
  if (other) {
    notices.push(
      `The sheet '${shorten(other.sheet)}' has domains in its column '${shorten(other.column)}': if that is the list, and not '${shorten(sheet.name)}', take it with --sheet.`,
    );
  }
  if (uncalculated > 0) {
    notices.push(
      `${count(uncalculated, 'formula has', 'formulas have')} no value yet, as if empty: open the workbook in a spreadsheet program and save it to have them calculated.`,
    );
  }
  if (hidden > 0) {
    const isFiltered = [frame.tail, ...tables.map(({ xml }) => xml)].some((xml) =>
      /<(?:[\w.-]+:)?filterColumn[\s>]/.test(xml),
    );
    const are = hidden === 1 ? 'is' : 'are';
    notices.push(
      `${hidden.toLocaleString('en-US')} of ${count(rows, 'row', 'rows')} ${are} hidden${isFiltered ? ' by a filter' : ''}: looked up like the others, and hidden in the output too.`,
    );
  }
  if (leftOut) {
    notices.push(
      `${count(leftOut.rows, 'row', 'rows')} below the list (sheet row ${leftOut.number}, '${shorten(leftOut.text)}') set off by an empty one and without an address: not looked up, and left as they are in a workbook.`,
    );
  }
  return notices;
}

function describeBelowTable(workbook: Workbook, domainColumn: number): readonly string[] {
  const below = workbook.found.belowTables.find(
    ({ table }) => table.firstColumn <= domainColumn && domainColumn <= table.lastColumn,
  );
  if (!below) return [];
  return [
    `${count(below.rows, 'row', 'rows')} below the table '${shorten(below.table.name)}' (from sheet row ${below.first}): looked up like the others, but sorting the table leaves them where they are.`,
  ];
}

function count(number: number, one: string, more: string): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : more}`;
}

/** The list's own cells are never changed; a text that was filled in came from the API. */
function textInCsv(cell: SheetCell): string {
  const isFilled = Array.isArray(cell) && cell[0] === 'filled';
  return isFilled ? withoutFormula(cell[1]) : textOfSheetCell(cell);
}

function valueOf(cell: SheetCell | undefined, isDomain: boolean): unknown {
  const hasLink = Array.isArray(cell) && typeof cell[3] === 'string';
  return isDomain && hasLink ? addressOfSheetCell(cell) : valueOfSheetCell(cell);
}

interface ScanOptions {
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
  /** The least number of columns of every row. */
  readonly width: number;
}

async function* scan(
  source: Source,
  { domainColumn, others, width }: ScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  const scanLine = (line: Buffer): ScannedRow => {
    const cut = line.indexOf(CUT_BYTE);
    const cells = JSON.parse(line.toString('utf8', 0, cut)) as SheetCell[];
    return {
      sheetRow: Number(line.toString('latin1', cut + 1, line.indexOf(CUT_BYTE, cut + 1))),
      cell: addressOfSheetCell(cells[domainColumn.index]),
      sizeBytes: line.length,
      fields: Math.max(width, cells.length),
      others:
        others.length > 0 ? others.map(({ index }) => textOfSheetCell(cells[index])) : undefined,
    };
  };
  let rest: Buffer[] = [];
  for await (const chunk of source.read()) {
    const batch: ScannedRow[] = [];
    let start = 0;
    for (let end = chunk.indexOf(END_BYTE); end !== -1; end = chunk.indexOf(END_BYTE, start)) {
      const tail = chunk.subarray(start, end + 1);
      batch.push(scanLine(rest.length > 0 ? Buffer.concat([...rest, tail]) : tail));
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    if (batch.length > 0) yield batch;
  }
}
