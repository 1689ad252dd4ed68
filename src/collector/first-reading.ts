import { BrandfillError } from '../common/errors.ts';
import { hashText } from '../common/hashes.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { shorten } from '../rows/columns/names.ts';
import { invalidDomain } from '../rows/domain/address.ts';
import type { DomainReader } from '../rows/domain/domain.ts';
import type { RowColumn, RowFormat, ScannedRow } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { createCounts } from './counts.ts';
import type { Fill } from './fill.ts';
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
  /** The first three of these rows. */
  readonly invalidExamples: readonly InvalidRow[];
  /** Domains with a fresh outcome in the store, which need no call. */
  readonly freshDomains: number;
  /** Rows with such a domain. */
  readonly freshRows: number;
  /** Domains to look up. */
  readonly lookups: number;
  /** Rows with more or fewer cells than the header. */
  readonly raggedRows: number;
  /** The line of the first row that is `too_many_cells`. */
  readonly firstShiftedLine?: number;
  /** The line of the first row in which a text within quotes has lines like those of the list. */
  readonly firstTakingLine?: number;
  /** The domain, where several rows have no other one; missing otherwise. */
  readonly oneSite?: string;
  /** Rows that are not looked up and pass as they are; missing without `where`. */
  readonly passedRows?: number;
  /**
   * Rows below the list, such as notes or another table, which pass likewise; missing if there are
   * none.
   */
  readonly below?: RowsBelow;
  /** What the list has of which this is a sample: rows with a domain, and domains to look up. */
  readonly sampleOf?: { readonly rows: number; readonly lookups: number };
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
  /** Of price and cost. @default none was given */
  readonly currency?: string | undefined;
  /** What the API bills for these calls, if none is made twice; missing where that is not known. */
  readonly bill?: Bill;
  /** Whether no more is spent in any case. @default false */
  readonly isBound?: boolean;
  /**
   * The same for each of several APIs, at most: how many it is asked depends on what the one before
   * finds.
   */
  readonly apis?: readonly PlannedApi[];
}

/** What one of several APIs is asked at most. */
export interface PlannedApi extends Omit<Plan, keyof PlannedRows | 'apis'> {
  readonly name: string;
  readonly lookups: number;
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

/** A list, and what is to be read of it. */
export interface ListToRead {
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  /** Reads the domain in a cell of that column. */
  readonly readDomain: DomainReader;
  /** The column that identifies rows from night to night. */
  readonly key?: RowColumn | undefined;
  /** Fills blank cells of the list's own columns. */
  readonly fill?: Fill | undefined;
  /** Which rows are looked up. @default all */
  readonly where?: WhereRows | undefined;
}

export interface PlanOptions extends ListToRead {
  /**
   * Whether a domain has to be looked up, or the store has a fresh outcome of it. Called once for
   * each row with one, in their order.
   */
  readonly kindOf: (domain: string, isFirst: boolean) => 'due' | 'known';
  /** The index that gets an entry for each row. */
  readonly index: Pick<RowIndex, 'append'>;
  /** Ends the reading early, with the signal's reason. */
  readonly signal: AbortSignal;
}

/** The rows whose cell in a column has one of some values. */
export interface WhereRows {
  readonly column: RowColumn;
  readonly values: ReadonlySet<string>;
}

/** Reads all rows once and finds out, without a call, what has to be done for each. */
export async function makePlan(options: PlanOptions) {
  const { source, format, column, index, signal } = options;
  const reading = new FirstReading(options);
  for await (const rows of format.scan(source, column, reading.columns)) {
    signal.throwIfAborted();
    await index.append(rows.flatMap((row) => reading.take(row)));
  }
  await index.append(reading.end());
  reading.assertListIsThere(source);
  await source.assertUnchanged();
  const { planned, domains, maxFields } = reading;
  return { planned, /** The rows of each domain. */ domains, extent: { maxFields } };
}

const MOST_EXAMPLES = 3;
/** More rows than these behind a blank one are no notes below a list. */
const MOST_BELOW = 50;
/** So many rows of one company are no list of companies. */
const SEVERAL = 3;

/**
 * The rows of a list, one after the other.
 *
 * ```text
 *   row ──▶ of the list ──▶ counted and indexed
 *     └─ perhaps below it, or blank ──▶ held
 *                                          ├─ a row of the list follows, or too many ──▶ as those
 *                                          └─ the end, or another table ──▶ left as they are
 * ```
 */
class FirstReading {
  readonly #options: PlanOptions;
  readonly #counts = {
    rows: 0,
    invalidRows: 0,
    invalidByReason: {} as Record<string, number>,
    invalidExamples: [] as InvalidRow[],
    freshDomains: 0,
    freshRows: 0,
    raggedRows: 0,
  };
  #passedRows = 0;
  /** Rows below the list with a domain. */
  #domainsBelow = 0;
  /** What few lists have. */
  readonly #odd: { firstShiftedLine?: number; firstTakingLine?: number; below?: RowsBelow } = {};
  #lastSite = '';
  /** The last rows, which are below the list unless one of it follows. */
  #held: ScannedRow[] = [];
  /** Whether these are too many for notes. */
  #isLong = false;
  readonly domains = createCounts();
  maxFields = 0;

  constructor(options: PlanOptions) {
    this.#options = options;
  }

  /** The columns whose text is needed besides that of the domain. */
  get columns(): readonly RowColumn[] {
    const { key, where, fill } = this.#options;
    return [key ?? [], where?.column ?? [], fill?.columns ?? []].flat();
  }

  get planned(): PlannedRows {
    const { size } = this.domains;
    const { rows, invalidRows, freshDomains } = this.#counts;
    const isOneSite = size === 1 && rows - invalidRows >= SEVERAL;
    return {
      ...this.#counts,
      uniqueDomains: size,
      lookups: size - freshDomains,
      ...this.#odd,
      ...(this.#options.where && { passedRows: this.#passedRows }),
      ...(isOneSite && { oneSite: this.#lastSite }),
    };
  }

  /** Takes a row. Returns the entries of those that are known by now to be of the list, or not. */
  take(row: ScannedRow): readonly IndexedRow[] {
    const isBlank = row.fields === 0 || row.isBlank === true;
    this.#isLong &&= isBlank || row.below === 'perhaps';
    this.#held.push(row);
    if (row.below === true) return this.end();
    const isHeld = row.below === 'perhaps' || (isBlank && this.#held.length > 1);
    this.#isLong ||= this.#held.length > MOST_BELOW;
    return isHeld && !this.#isLong ? [] : this.#release().map((one) => this.#index(one));
  }

  /** The entries of those that are below the list. */
  end(): readonly IndexedRow[] {
    return this.#release().map((row) => {
      const { sizeBytes, fields, isBlank = false, line, cell } = row;
      if (fields > 0 && !isBlank) {
        if ('domain' in this.#options.readDomain(cell)) this.#domainsBelow += 1;
        const { rows, ...place } = this.#odd.below ?? { rows: 0, ...this.#placeOf(line) };
        this.#odd.below = { rows: rows + 1, ...place };
      }
      return { kind: fields > 0 ? 'passed' : 'blank', sizeBytes, fields, text: '' };
    });
  }

  /**
   * @throws BrandfillError `UNREADABLE_INPUT` when more domains are below the list than it has rows
   */
  assertListIsThere({ name }: Source): void {
    const { below: { sheetRow, line = 0 } = {} } = this.#odd;
    const rows = this.#counts.rows + this.#passedRows;
    if (this.#domainsBelow <= rows) return;
    const place = sheetRow === undefined ? `line ${line}` : `sheet row ${sheetRow}`;
    const skip =
      sheetRow === undefined ? `, or what is above with option 'skipLines' (${line - 1})` : '';
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot tell which is the list of ${name}: below ${rows} rows there is another table in ${place} with ${this.#domainsBelow} domains; take away what is no row of the list${skip}.`,
    );
  }

  #release(): readonly ScannedRow[] {
    const rows = this.#held;
    this.#held = [];
    return rows;
  }

  #placeOf(line: number): RowPlace {
    return this.#options.format.workbook ? { sheetRow: line } : { line };
  }

  #index(row: ScannedRow): IndexedRow {
    const { sizeBytes, fields, others = [] } = row;
    const { format, key, where, readDomain } = this.#options;
    // Empty lines are left out; rows of nothing but delimiters stay where they are.
    if (fields === 0) return { kind: 'blank', sizeBytes, fields, text: '' };
    this.maxFields = Math.max(this.maxFields, fields);
    if (row.isBlank) return { kind: 'passed', sizeBytes, fields, text: '' };
    const id = key && digitsOf(others[0]?.trim() ?? '');
    // A cell that may belong to another column is not even read.
    const found = row.shifted ? invalidDomain(row.shifted) : readDomain(row.cell);
    if (where && !where.values.has(others[key ? 1 : 0]?.trim() ?? '')) {
      this.#passedRows += 1;
      const text = 'domain' in found ? found.domain : '';
      return { kind: 'passed', sizeBytes, fields, text, key: id };
    }
    this.#counts.rows += 1;
    if (format.isTable && fields !== format.columns.length) this.#counts.raggedRows += 1;
    if (row.shifted) this.#odd.firstShiftedLine ??= row.line;
    if (row.mayTakeRows) this.#odd.firstTakingLine ??= row.line;
    if ('invalid' in found) {
      this.#addInvalid(row, found.invalid);
      return { kind: 'invalid', sizeBytes, fields, text: found.invalid, key: id };
    }
    const { domain: text } = found;
    const isFirst = this.domains.add(text) === 1;
    this.#lastSite = text;
    const kind = this.#options.kindOf(text, isFirst);
    if (kind === 'known') {
      this.#counts.freshRows += 1;
      if (isFirst) this.#counts.freshDomains += 1;
    }
    return { kind, sizeBytes, fields, text, isFirst, key: id };
  }

  #addInvalid({ line, cell }: ScannedRow, reason: string): void {
    const { rows: row, invalidByReason, invalidExamples } = this.#counts;
    this.#counts.invalidRows += 1;
    invalidByReason[reason] = (invalidByReason[reason] ?? 0) + 1;
    if (invalidExamples.length >= MOST_EXAMPLES) return;
    invalidExamples.push({ row, ...this.#placeOf(line), reason, cell: shorten(cell.trim()) });
  }
}

const words = new Uint32Array(2);
const WORD_DIGITS = 8;

/** What a row is known by from night to night: a hash of its key; empty for none. */
function digitsOf(text: string): string {
  if (text === '') return '';
  hashText(text, 0, words, 0);
  return Array.from(words, (word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('');
}

/** Where people find a row. */
export interface RowPlace {
  /** In a workbook, its row in the sheet, as spreadsheet programs count. */
  readonly sheetRow?: number;
  /** Elsewhere, the line in which it begins, as editors count. */
  readonly line?: number;
}

/** Rows below a list: how many, and the place of the first. */
export interface RowsBelow extends RowPlace {
  readonly rows: number;
}

/** A row without a domain. */
export interface InvalidRow extends RowPlace {
  /** Its position among the rows, from 1. The header does not count. */
  readonly row: number;
  /** Why it has no domain, such as `empty` or `public_suffix`. */
  readonly reason: string;
  /** The cell, cut to fit into a message. */
  readonly cell: string;
}
