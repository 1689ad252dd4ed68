import { BrandfillError } from '../common/errors.ts';
import { createRowIndex, type RowIndex } from '../producer/row-index.ts';
import type { DomainReader } from '../rows/domain/domain-reader.ts';
import { openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowColumn, RowFormat, ScannedRow } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';

/** An open list. */
interface OpenList {
  readonly source: Source;
  readonly format: RowFormat;
}

/** The open output of an earlier run, with known columns. */
export interface OpenEarlierOutput extends OpenList {
  readonly domain: RowColumn;
  /** Names of the added columns, in their order. For objects, only those that all of them have. */
  readonly added: readonly string[];
  /** The list's own columns. */
  readonly own: Pick<RowFormat, 'columns' | 'sampleRows'>;
  close(): Promise<void>;
}

/** The output of an earlier run, into which rows are merged. */
export interface EarlierOutput extends Omit<OpenEarlierOutput, 'own'> {
  /** The length of each of its rows. */
  readonly index: RowIndex;
  readonly maxFields: number;
}

interface OpenOptions {
  readonly failures: OpenList;
  readonly columns: FailureColumns;
  readonly settings: Parameters<typeof openRows>[1];
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/**
 * Opens an earlier output.
 *
 * @throws BrandfillError `UNREADABLE_INPUT`, and `INVALID_SETTING` when it is not the output of
 *   this list
 */
export async function openEarlierOutput(
  path: string,
  { failures, columns, settings, spoolFolder, signal }: OpenOptions,
): Promise<OpenEarlierOutput> {
  const source = await openList(path, { spoolFolder, signal });
  try {
    const format = openRows(source, { ...settings, noHeader: false, skipLines: 0 });
    const found = findAdded(failures, columns, { source, format });
    const own = ownColumnsOf(format, columns);
    return { source, format, ...found, own, close: () => source.close() };
  } catch (error) {
    await source.close();
    throw error;
  }
}

export interface CheckOptions {
  readonly failures: OpenList;
  readonly columns: FailureColumns;
  /** The list's own column from which the domains are now taken. */
  readonly column: RowColumn;
  readonly readDomain: DomainReader;
  readonly earlier: OpenEarlierOutput;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that each row of a failures file is at its position in an earlier output, before any
 * call is made. There must be the domain that the row had then, or the corrected one if it was
 * merged before.
 *
 * @throws BrandfillError `INVALID_SETTING` when a row is not. Nothing may then be changed.
 */
export async function checkEarlierOutput(options: CheckOptions): Promise<EarlierOutput> {
  const { failures, columns, earlier, spoolFolder, signal } = options;
  const { source, format, domain, added } = earlier;
  const index = await createRowIndex(spoolFolder);
  let maxFields = 0;
  try {
    const wanted = rowsOf(
      failures.format.scan(failures.source, columns.domain, [columns.row, options.column]),
    );
    let next = await wanted.next();
    let last = 0;
    let number = 0;
    const fail = (why: string): BrandfillError =>
      new BrandfillError(
        'INVALID_SETTING',
        `Cannot merge ${failures.source.name} into ${earlier.source.name}: ${why}; nothing was changed.`,
      );
    const numberOf = ({ others }: ScannedRow): number => {
      const [text = ''] = others ?? [];
      const found = /^\d+$/.test(text) ? Number(text) : 0;
      if (found < 1) throw fail(`a row has no place in ${columns.row.name}`);
      if (found <= last) throw fail(`its rows are not in the order of ${columns.row.name}`);
      last = found;
      return found;
    };
    let place = next.done ? 0 : numberOf(next.value);
    for await (const batch of earlier.format.scan(earlier.source, domain)) {
      signal.throwIfAborted();
      for (const { cell, fields, isBlank } of batch) {
        if (fields === 0 || isBlank) continue;
        number += 1;
        maxFields = Math.max(maxFields, fields);
        if (next.done || number !== place) continue;
        if (next.value.cell !== cell && correctedDomainOf(next.value, options) !== cell) {
          throw fail(
            `row ${number} has the domain '${next.value.cell}' in the one and '${cell}' in the other, so they are not of the same run`,
          );
        }
        next = await wanted.next();
        if (!next.done) place = numberOf(next.value);
      }
      await index.append(
        batch.map(({ sizeBytes, fields, isBlank }) => ({
          kind: fields === 0 || isBlank ? 'blank' : 'known',
          sizeBytes,
          fields,
          text: '',
        })),
      );
    }
    if (!next.done) throw fail(`there is no row ${place} in it, so they are not of the same run`);
    await earlier.source.assertUnchanged();
    return { source, format, domain, added, index, maxFields, close: () => index.close() };
  } catch (error) {
    await index.close();
    throw error;
  }
}

/** The domain by which a row is now looked up; undefined when it has none. */
function correctedDomainOf(
  { others }: ScannedRow,
  { readDomain }: CheckOptions,
): string | undefined {
  const [, text = ''] = others ?? [];
  const found = readDomain(text);
  return 'domain' in found ? found.domain : undefined;
}

/** The own columns of the list in an output. */
function ownColumnsOf(
  { columns, sampleRows, isTable }: RowFormat,
  { own }: FailureColumns,
): OpenEarlierOutput['own'] {
  const isOwn = (at: number): boolean =>
    isTable ? at < own.columns.length : own.columns.includes(columns[at] ?? '');
  return {
    columns: columns.filter((_, at) => isOwn(at)),
    sampleRows: sampleRows.map((cells) => cells.filter((_, at) => isOwn(at))),
  };
}

/** Finds the added columns of the earlier output. They begin with domain and status. */
function findAdded(
  failures: OpenList,
  { domain: { name: domain }, names, own }: FailureColumns,
  { source, format }: OpenList,
): Pick<EarlierOutput, 'domain' | 'added'> {
  const status = names[2] ?? '';
  const fail = (why: string): BrandfillError =>
    new BrandfillError(
      'INVALID_SETTING',
      `Cannot merge into ${source.name}: ${why}; expected the output of the run that ${failures.source.name} is of.`,
    );
  if (format.kind !== failures.format.kind) throw fail(`it is ${format.description}`);
  for (const name of [domain, status]) {
    if (!format.columns.includes(name)) throw fail(`it has no column ${name}`);
  }
  if (!format.isTable) return { domain: { index: -1, name: domain }, added: [domain, status] };
  const at = own.columns.length;
  const isSame = own.columns.every((name, index) => format.columns[index] === name);
  if (!isSame || format.columns[at] !== domain || format.columns[at + 1] !== status) {
    throw fail(`its columns do not begin with those of ${failures.source.name}`);
  }
  return { domain: { index: at, name: domain }, added: format.columns.slice(at) };
}

async function* rowsOf(
  batches: AsyncIterable<readonly ScannedRow[]>,
): AsyncGenerator<ScannedRow, void, undefined> {
  for await (const batch of batches) {
    for (const row of batch) if (row.fields > 0 && !row.isBlank) yield row;
  }
}

/**
 * The columns that Brandfill adds at the end of a failures file, and the list's own before them.
 */
export interface FailureColumns {
  /** The row's position in the list, from 1. */
  readonly row: RowColumn;
  readonly domain: RowColumn;
  /** The names of all six, in their order, and of the API that answered, if it has that. */
  readonly names: readonly string[];
  /** The list with its own columns only, for finding the domain in it. */
  readonly own: RowFormat;
}

/** What follows them where a run asked two APIs. */
const API = 'api';

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
  const api = columns.findLastIndex((column) => isOurs(column, prefix + API));
  const isOfTwo = api !== -1 && (!format.isTable || api === row + NAMES.length);
  const isInOrder =
    found.every((index, at) => index === row + at) &&
    row + NAMES.length + (isOfTwo ? 1 : 0) === columns.length;
  if (missing !== undefined || (format.isTable && !isInOrder)) {
    return {
      missing:
        missing === undefined
          ? `its last columns are not ${prefix}row to ${prefix}attempts`
          : `it has no column ${prefix}${missing}`,
    };
  }
  const names = [...found, ...(isOfTwo ? [api] : [])].map((index) => columns[index] ?? '');
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
