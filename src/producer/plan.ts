import type { DomainColumn } from '../rows/columns/domain-column.ts';
import type { DomainReader } from '../rows/domain/domain-reader.ts';
import type { Extent, RowColumn, RowFormat, ScannedRow } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import type { DomainRows } from './domain-rows.ts';
import { createHashTable } from './hash-table.ts';
import { createInvalidRows, type InvalidRow, placeOf } from './invalid-row.ts';
import type { IndexedRow, RowIndex } from './row-index.ts';

/** What a list has to look up. */
export interface PlannedRows {
  /** Rows in the input. */
  readonly rows: number;
  /** Different domains in them. */
  readonly uniqueDomains: number;
  /** Rows without a domain. */
  readonly invalidRows: number;
  /** The same by why there is none, such as `empty`. */
  readonly invalidByReason: Readonly<Record<string, number>>;
  /** Three of them at most. */
  readonly invalidExamples: readonly InvalidRow[];
  /** Domains whose outcome the store has, and that need no call. */
  readonly freshDomains: number;
  /** Rows that have one of those. */
  readonly freshRows: number;
  /** Domains to be looked up. */
  readonly lookups: number;
  /** Rows with more or fewer cells than the header. */
  readonly raggedRows: number;
  /** Empty lines, which are no rows. */
  readonly blankLines: number;
}

/** What a run is going to do, known before its first call. */
export interface Plan extends PlannedRows {
  /** Calls to make, if none has to be tried again: `lookups`, or fewer where fewer are allowed. */
  readonly calls: number;
  /** How long they take; undefined while no limit of the API is known. */
  readonly estimate: PlanEstimate | undefined;
  /** What a call costs, as it was given. */
  readonly price: number | undefined;
  /** What the calls cost; undefined without a price. */
  readonly cost: number | undefined;
}

/** How long calls take at a limit, in the best case: answers come at once and no call is made twice. */
export interface PlanEstimate {
  /** In milliseconds, with what is left of a wait that the API told. */
  readonly durationMs: number;
  readonly limitPerSecond: number;
  /** `fixed` was given with `rate`, `learned` is what the last run met. */
  readonly limitIs: 'fixed' | 'learned';
}

export interface PlanOptions {
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  /** Reads the domain in a cell of that column. */
  readonly readDomain: DomainReader;
  /** Whether the store has an outcome for a domain that need not be asked again. */
  readonly isFresh: (domain: string) => boolean;
  /** What else is to be known of rows when they are written. */
  readonly notes?: RowNotes | undefined;
  /** Told of rows to look up whose domain an earlier row has. */
  readonly domainRows?: Pick<DomainRows, 'again'>;
  /** Where each row is noted. */
  readonly index: RowIndex;
  /** Ends the reading early, with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Makes a note of each row out of some of its columns. */
export interface RowNotes {
  readonly columns: readonly RowColumn[];
  /** @param cells the text of those columns */
  noteOf(cells: readonly string[]): string;
}

const MOST_EXAMPLES = 3;

/** Reads all rows once and finds out, without a call, what has to be done for each. */
export async function makePlan(
  options: PlanOptions,
): Promise<{ readonly planned: PlannedRows; readonly extent: Extent }> {
  const { source, format, column, readDomain, isFresh, notes, domainRows, index, signal } = options;
  const distinct = createHashTable();
  const invalid = createInvalidRows(MOST_EXAMPLES);
  const headerFields = format.columns.length;
  let rows = 0;
  let freshDomains = 0;
  let freshRows = 0;
  let raggedRows = 0;
  let blankLines = 0;
  let maxFields = 0;

  function indexRow(row: ScannedRow): IndexedRow {
    const { sizeBytes, fields } = row;
    if (fields === 0) {
      blankLines += 1;
      return { kind: 'blank', sizeBytes, fields, text: '' };
    }
    rows += 1;
    maxFields = Math.max(maxFields, fields);
    if (format.isTable && fields !== headerFields) raggedRows += 1;
    const note = notes?.noteOf(row.others ?? []);
    const found = readDomain(row.cell);
    if ('invalid' in found) {
      invalid.add({ ...placeOf(row, rows), reason: found.invalid, cell: row.cell });
      return { kind: 'invalid', sizeBytes, fields, text: found.invalid, note };
    }
    const isNew = distinct.add(found.domain);
    const known = isFresh(found.domain);
    if (known) freshRows += 1;
    if (isNew && known) freshDomains += 1;
    if (!isNew && !known) domainRows?.again(found.domain);
    return { kind: known ? 'known' : 'due', sizeBytes, fields, text: found.domain, note };
  }

  for await (const batch of format.scan(source, column, notes?.columns)) {
    signal.throwIfAborted();
    await index.append(batch.map(indexRow));
  }
  await source.assertUnchanged();
  const planned: PlannedRows = {
    rows,
    uniqueDomains: distinct.size,
    invalidRows: invalid.count,
    invalidByReason: invalid.byReason,
    invalidExamples: invalid.examples,
    freshDomains,
    freshRows,
    lookups: distinct.size - freshDomains,
    raggedRows,
    blankLines,
  };
  return { planned, extent: { maxFields } };
}
