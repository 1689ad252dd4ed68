import { basename } from 'node:path';
import { BrandfillError } from '../../common/errors.ts';
import { untakenName } from '../../rows/columns/names.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import type { RowFormat } from '../../rows/row-format.ts';
import { MOST_ROWS } from '../../rows/xlsx/cell-ref.ts';
import { kindOfOutput } from './output-kind.ts';
import type { OutputPaths } from './output-paths.ts';

/** The names of the sheets that Brandfill writes. */
export interface SheetNames {
  readonly list: string;
  readonly failures: string;
  readonly changes: string;
}

const MOST_CHARACTERS = 31;

/**
 * Names the sheets of the tables in a workbook. The list's own sheet keeps its name, and others get
 * a name that is free there.
 *
 * @param input the name of the list
 */
export function nameSheets(input: string, { workbook }: RowFormat): SheetNames {
  const list = workbook?.sheet.name ?? sheetNameOf(input);
  const taken = new Set((workbook?.parts.names ?? [list]).map((name) => name.toLowerCase()));
  const failures = untakenName('failures', (name) => taken.has(name.toLowerCase()));
  return { list, failures, changes: 'changes' };
}

/** The name of a file, as far as it is valid for a sheet. */
function sheetNameOf(input: string): string {
  const { stem } = splitExtension(basename(input));
  const name = stem
    .replaceAll(/[[\]:*?/\\\p{Cc}]/gu, ' ')
    .slice(0, MOST_CHARACTERS)
    .replaceAll(/^[\s']+|[\s']+$/g, '');
  // This sheet name is reserved.
  return name === '' || name.toLowerCase() === 'history' ? 'list' : name;
}

/**
 * Makes sure that the rows of a list fit into the workbooks that are to be written.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function refuseLongSheets(
  { out, failures }: OutputPaths,
  format: RowFormat,
  rows: number,
): void {
  if (rows < MOST_ROWS || format.kind === 'xlsx') return;
  const path = [out, failures].find(
    (path) => path !== undefined && kindOfOutput(path, format) === 'xlsx',
  );
  if (path === undefined) return;
  const most = (MOST_ROWS - 1).toLocaleString('en-US');
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot write ${path}: a sheet holds ${most} rows below its header, and the list has ${rows.toLocaleString('en-US')}; write CSV, or cut the list.`,
  );
}
