import type { SheetCell } from './cell.ts';

/**
 * A row of a sheet on its way through a run: a line of the spool, split by characters that neither
 * JSON nor XML can hold.
 *
 * | part | content |
 * |---|---|
 * | cells | JSON: their contents, from the first column of the list |
 * | number | as the sheet counts |
 * | xml | the row as it is in the sheet, without its end |
 * | after | rows behind it that are not part of the list, as they are in the sheet |
 */
export interface RowLine {
  readonly cells: readonly SheetCell[];
  readonly number: number;
  readonly xml: string;
  readonly after: string;
}

const CUT = '\x1F';
const END = '\x1E';
export const CUT_BYTE = 0x1f;
export const END_BYTE = 0x1e;

export function writeRowLine({ cells, number, xml, after }: RowLine): string {
  return JSON.stringify(cells) + CUT + number + CUT + xml + CUT + after + END;
}

export function readRowLine(line: string): RowLine {
  const [cells = '[]', number = '', xml = '', after = ''] = line.slice(0, -1).split(CUT);
  return {
    cells: JSON.parse(cells) as SheetCell[],
    number: Number(number),
    xml,
    after,
  };
}

/** Parses the cells only. */
export function readCells(line: string): readonly SheetCell[] {
  return JSON.parse(line.slice(0, line.indexOf(CUT))) as SheetCell[];
}

/** Reads everything except the cells, which need not be parsed for it. */
export function readRowXml(line: string): Omit<RowLine, 'cells'> {
  const [, number = '', xml = '', after = ''] = line.slice(0, -1).split(CUT);
  return { number: Number(number), xml, after };
}
