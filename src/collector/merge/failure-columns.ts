import { BrandfillError } from '../../common/errors.ts';
import type { RowColumn, RowFormat } from '../../rows/row-format.ts';

/**
 * The columns that Brandfill adds at the end of a failures file, and the list's own before them.
 */
export interface FailureColumns {
  /** The row's position in the list, from 1. */
  readonly row: RowColumn;
  readonly domain: RowColumn;
  /** The names of all six, in their order. */
  readonly names: readonly string[];
  /** The list with its own columns only, for finding the domain in it. */
  readonly own: RowFormat;
}

const NAMES = ['row', 'domain', 'status', 'reason', 'http_status', 'attempts'] as const;

/** A failures file that is to be merged. */
interface NamedFormat {
  readonly name: string;
  readonly format: RowFormat;
}

/**
 * The columns that Brandfill added in a failures file.
 *
 * @throws BrandfillError `INVALID_SETTING` when the list is not a failures file
 */
export function readFailureColumns({ name, format }: NamedFormat, prefix: string): FailureColumns {
  const found = seekFailureColumns(format, prefix);
  if (!('missing' in found)) return found;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot merge ${name}: ${found.missing}; expected the failures file of an earlier run.`,
  );
}

/** Finds the columns that Brandfill added in a list, if it is a failures file. */
export function findFailureColumns(format: RowFormat, prefix: string): FailureColumns | undefined {
  const found = seekFailureColumns(format, prefix);
  return 'missing' in found ? undefined : found;
}

/** Finds the columns. They are the last ones, and may have a suffix. */
function seekFailureColumns(
  format: RowFormat,
  prefix: string,
): FailureColumns | { readonly missing: string } {
  const { columns } = format;
  const found = NAMES.map((wanted) =>
    columns.findLastIndex((column) => isOurs(column, prefix + wanted)),
  );
  const [row = -1, domain = -1] = found;
  const missing = NAMES[found.indexOf(-1)];
  const isInOrder =
    found.every((index, at) => index === row + at) && row + NAMES.length === columns.length;
  if (missing !== undefined || (format.isTable && !isInOrder)) {
    return {
      missing:
        missing === undefined
          ? `its last columns are not ${prefix}row to ${prefix}attempts`
          : `it has no column ${prefix}${missing}`,
    };
  }
  const names = found.map((index) => columns[index] ?? '');
  const isOwn = (column: string): boolean => !names.includes(column);
  const own = format.isTable ? columns.slice(0, row) : columns.filter(isOwn);
  const cellsOf = (cells: readonly string[]): readonly string[] =>
    format.isTable ? cells.slice(0, row) : cells.filter((_, at) => isOwn(columns[at] ?? ''));
  return {
    row: { index: row, name: columns[row] ?? '' },
    domain: { index: domain, name: columns[domain] ?? '' },
    names,
    own: { ...format, columns: own, sampleRows: format.sampleRows.map(cellsOf) },
  };
}

/**
 * Whether a column has a given name, or that name with the suffix it gets when the list has it
 * already.
 */
function isOurs(column: string, name: string): boolean {
  return (
    column === name ||
    (column.startsWith(`${name}_`) && /^\d+$/.test(column.slice(name.length + 1)))
  );
}
