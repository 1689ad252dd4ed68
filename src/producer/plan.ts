import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { shorten } from '../rows/columns/names.ts';
import { invalidDomain } from '../rows/domain/address.ts';
import type { NormalizedDomain } from '../rows/domain/domain.ts';
import type { DomainReader } from '../rows/domain/domain-reader.ts';
import type { Extent, RowColumn, RowFormat, ScannedRow } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { createHashTable, type DomainRows } from './distinct-domains.ts';
import type { IndexedRow, RowIndex } from './row-index.ts';

/** The contents of a list, as planned. */
export interface PlannedRows {
  /** Rows in the input. */
  readonly rows: number;
  /** Distinct domains in them. */
  readonly uniqueDomains: number;
  /** Rows without a domain. */
  readonly invalidRows: number;
  /** These rows by reason, such as `empty`. */
  readonly invalidByReason: Readonly<Record<string, number>>;
  /** Some of these rows: three of them, unless more are asked for. */
  readonly invalidExamples: readonly InvalidRow[];
  /** Domains with a fresh outcome in the store, which need no call. */
  readonly freshDomains: number;
  /** Rows with such a domain. */
  readonly freshRows: number;
  /** Domains to look up. */
  readonly lookups: number;
  /** Rows with more or fewer cells than the header. */
  readonly raggedRows: number;
  /** Rows with fewer cells than the header, which does no harm. */
  readonly shortRows: number;
  /** The line of the first row that is `too_many_cells` or `torn_row`. */
  readonly firstShiftedLine?: number;
  /** Empty lines. They are not rows. */
  readonly blankLines: number;
  /** Lines of nothing but delimiters. They are not rows either, and stay where they are. */
  readonly blankRows: number;
}

/** The work of a run, known before its first call. */
export interface Plan extends PlannedRows {
  /** Calls to make if none is retried: `lookups`, or fewer if fewer are allowed. */
  readonly calls: number;
  /** How long the calls take; undefined while no limit of the API is known. */
  readonly estimate: PlanEstimate | undefined;
  /** The price of a call, as given by the user. */
  readonly price: number | undefined;
  /** The cost of the calls; undefined without a price. */
  readonly cost: number | undefined;
  /** The most that the API bills for these calls; missing where no profile says what it bills. */
  readonly bill?: Bill;
  /** What a second API is asked; missing without one. */
  readonly second?: PlanOfSecond;
}

/** What a second API is asked, known before the first was asked. */
export interface PlanOfSecond
  extends Pick<Plan, 'lookups' | 'calls' | 'price' | 'cost'>,
    Pick<Partial<Plan>, 'bill'> {
  /** Its name. */
  readonly api: string;
  /** Rows whose domains the first API is not asked about, and this one is. */
  readonly rows: number;
  /** The most lookups: if the first API knows none of its domains. */
  readonly mostLookups: number;
}

/** What an API bills. */
export interface Bill {
  readonly units: number;
  /** Such as `credits`. */
  readonly unit: string;
}

/** How long calls take at a limit in the best case, with instant answers and no retries. */
export interface PlanEstimate {
  /** In milliseconds, including the rest of a wait that the API stated. */
  readonly durationMs: number;
  readonly limitPerSecond: number;
  /** `fixed` was given with `rate`, `learned` was found by the last run. */
  readonly limitIs: 'fixed' | 'learned';
}

export interface PlanOptions {
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  /** Reads the domain in a cell of that column. */
  readonly readDomain: DomainReader;
  /** What is to be done for a row with a domain. Called once for each, in their order. */
  readonly look: (domain: string, row: ScannedRow, note: string | undefined) => Look;
  /** Called after each batch of rows. */
  readonly onBatch?: (() => Promise<void>) | undefined;
  /** Notes on rows for when they are written. */
  readonly notes?: RowNotes | undefined;
  /** Called for rows to look up whose domain an earlier row has. */
  readonly domainRows?: Pick<DomainRows, 'again'>;
  /** The index that gets an entry for each row. */
  readonly index: Pick<RowIndex, 'append' | 'end'>;
  /** The text of a cell that was corrected since the list was made, by the number of its row. */
  readonly mended?: ReadonlyMap<number, string> | undefined;
  /** The most rows without a domain that are shown. @default 3 */
  readonly mostExamples?: number | undefined;
  /** Ends the reading early, with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * `due`: the domain has to be looked up; `passed_on`: at the second API only; `known`: the store has a
 * fresh outcome of it. An entry: so has it, and the row was written at once.
 */
export type Look = 'due' | 'passed_on' | 'known' | (IndexedRow & { readonly kind: 'written' });

/** Makes a note on each row from some of its columns. */
export interface RowNotes {
  readonly columns: readonly RowColumn[];
  /** @param cells the text of those columns */
  noteOf(cells: readonly string[]): string;
}

interface MadePlan {
  readonly planned: PlannedRows;
  /** What only the second API is asked. */
  readonly passedOn: { readonly lookups: number; readonly rows: number };
  readonly extent: Extent;
}

const MOST_EXAMPLES = 3;

/** Reads all rows once and finds out, without a call, what has to be done for each. */
export async function makePlan(options: PlanOptions): Promise<MadePlan> {
  const { source, format, column, readDomain, look, onBatch, notes, domainRows, index, signal } =
    options;
  const distinct = createHashTable();
  const invalid = createInvalidRows(options.mostExamples ?? MOST_EXAMPLES);
  const { mended } = options;
  const headerFields = format.columns.length;
  let rows = 0;
  let freshDomains = 0;
  let freshRows = 0;
  const passedOn = { lookups: 0, rows: 0 };
  let raggedRows = 0;
  let shortRows = 0;
  let firstShiftedLine: number | undefined;
  let blankLines = 0;
  let blankRows = 0;
  let maxFields = 0;

  function indexRow(row: ScannedRow): IndexedRow {
    const { sizeBytes, fields } = row;
    if (fields === 0) {
      blankLines += 1;
      return { kind: 'blank', sizeBytes, fields, text: '' };
    }
    if (row.isBlank) {
      blankRows += 1;
      return { kind: 'blank', sizeBytes, fields, text: '' };
    }
    rows += 1;
    maxFields = Math.max(maxFields, fields);
    if (format.isTable && fields !== headerFields) raggedRows += 1;
    if (format.isTable && fields < headerFields) shortRows += 1;
    firstShiftedLine ??= row.shifted?.line;
    const note = notes?.noteOf(row.others ?? []);
    const corrected = mended?.get(rows);
    const found = corrected === undefined ? domainOf(row, readDomain) : readDomain(corrected);
    if ('invalid' in found) {
      const cell = corrected ?? row.cell;
      invalid.add({ ...placeOf(row, rows), reason: found.invalid, cell });
      return { kind: 'invalid', sizeBytes, fields, text: found.invalid, note };
    }
    const { domain: text } = found;
    const isNew = distinct.add(text);
    const kind = look(text, row, note);
    if (kind === 'due' || kind === 'passed_on') {
      if (!isNew) domainRows?.again(text);
      if (kind === 'passed_on') {
        passedOn.rows += 1;
        if (isNew) passedOn.lookups += 1;
      }
      return { kind: 'due', sizeBytes, fields, text, note };
    }
    freshRows += 1;
    if (isNew) freshDomains += 1;
    if (kind === 'known') return { kind, sizeBytes, fields, text, note };
    return kind;
  }

  for await (const batch of format.scan(source, column, notes?.columns)) {
    signal.throwIfAborted();
    await index.append(batch.map(indexRow), batch);
    await onBatch?.();
  }
  await index.end();
  await source.assertUnchanged();
  const planned: PlannedRows = {
    rows,
    uniqueDomains: distinct.size,
    invalidRows: invalid.count,
    invalidByReason: invalid.byReason,
    invalidExamples: invalid.examples,
    freshDomains,
    freshRows,
    lookups: distinct.size - freshDomains - passedOn.lookups,
    raggedRows,
    shortRows,
    ...(firstShiftedLine !== undefined && { firstShiftedLine }),
    blankLines,
    blankRows,
  };
  return { planned, passedOn, extent: { maxFields } };
}

/** A row without a domain. */
export interface InvalidRow {
  /** Its position among the rows, from 1. The header does not count. */
  readonly row: number;
  /** In a workbook, its row in the sheet, as spreadsheet programs count. */
  readonly sheetRow?: number;
  /** The line in which it begins, if it has too many cells. */
  readonly line?: number;
  /** Why it has no domain, such as `empty` or `public_suffix`. */
  readonly reason: string;
  /** The cell, cut to fit into a message. */
  readonly cell: string;
}

/** Rows without a domain: their number, the reasons, and a few examples. */
interface InvalidRows {
  add(row: InvalidRow): void;
  readonly count: number;
  readonly byReason: Readonly<Record<string, number>>;
  /** One row for each reason if there is room, then the first ones; in the order of the rows. */
  readonly examples: readonly InvalidRow[];
}

/** @param most how many examples are kept */
export function createInvalidRows(most: number): InvalidRows {
  const byReason: Record<string, number> = {};
  const firstOfReason: InvalidRow[] = [];
  const first: InvalidRow[] = [];
  let count = 0;
  return {
    add: (row) => {
      const { reason, cell } = row;
      count += 1;
      const ofReason = (byReason[reason] ?? 0) + 1;
      byReason[reason] = ofReason;
      if (ofReason > 1 && count > most) return;
      const invalid = { ...row, cell: shorten(cell.trim()) };
      if (ofReason === 1) firstOfReason.push(invalid);
      if (count <= most) first.push(invalid);
    },
    get count() {
      return count;
    },
    byReason,
    get examples() {
      const shown = [...new Set([...firstOfReason, ...first])].slice(0, most);
      return shown.sort((one, other) => one.row - other.row);
    },
  };
}

/** The domain of a row. A cell that may belong to another column is not even read. */
function domainOf(row: ScannedRow, readDomain: DomainReader): NormalizedDomain {
  return row.shifted ? invalidDomain(row.shifted.reason) : readDomain(row.cell);
}

/** @param row its position among the rows */
function placeOf(
  { sheetRow, shifted }: ScannedRow,
  row: number,
): Pick<InvalidRow, 'row' | 'sheetRow' | 'line'> {
  return {
    row,
    ...(sheetRow !== undefined && { sheetRow }),
    ...(shifted && { line: shifted.line }),
  };
}
