import { isNothing } from '../domain/address.ts';
import { normalizeDomain } from '../domain/domain.ts';
import type { RowColumn, ScannedRow } from '../row-format.ts';
import { meaningOfName } from './column-name.ts';
import { shorten } from './names.ts';

// Where the table of a list begins, which row is its header, and where it ends, in CSV and
// workbooks.
//
//   titles, pairs, summaries ── header ── rows of the list ── blank ── totals, notes, footers
//   (findHeader: passed over)             (createBelow: what is no row of it)

/** A row at the beginning of a sheet or a file, as its cells. */
export interface HeadRow {
  /** As they are shown; empty where they are linked, as what a link shows is no name. */
  readonly names: readonly string[];
  /** As they are looked up. */
  readonly addresses: readonly string[];
  /** How many cells have something in them. */
  readonly filled: number;
  /** Whether most of these are texts. Years are also names of columns, but not of most of them. */
  readonly isOfTexts: boolean;
  /** Whether blank space lies between it and the row above. */
  readonly isApart: boolean;
  /**
   * The place of its header among these rows, where its cell in a column is in a workbook's own
   * table.
   */
  readonly headerAt?: (column: number) => number | undefined;
}

/** Rows that are compared to see how wide a table is. */
const ROWS_COMPARED = 10;

/**
 * Finds the header among the first rows. It is of texts, at least half as wide as the list, and
 * names a column of domains above the first address in it; the first such row, in a list of one
 * column the last. Where no row names one, it is the first of texts, and wider than half the list,
 * in the block above the first address. Titles, export dates, groups of columns, `Region: DACH` and
 * summaries have other shapes or stand apart. A workbook's own table says which row is its header.
 *
 * @param rows the first rows that are not blank @param far the cells of rows from further below
 * @returns its place; 0 where no row looks like one, which is then refused if it is a row of the
 *   list
 */
export function findHeader(
  rows: readonly HeadRow[],
  far: readonly (readonly string[])[] = [],
): number {
  const ofRows = rows.map((row) => (isPair(row) ? [] : row.addresses));
  const found = addressesByColumn([...ofRows, ...far]);
  const [[column, { first }] = [0, { first: rows.length }]] = [...found].sort(
    ([, one], [, other]) => other.count - one.count,
  );
  const body = Math.min(first, rows.length);
  const ofTable = rows[Math.min(body, rows.length - 1)]?.headerAt?.(column);
  if (ofTable !== undefined) return ofTable;

  /**
   * How many cells rows have from here on; of the list where one of its addresses is among these
   * rows.
   */
  const widthFrom = (at: number): number =>
    median(rows.slice(at, at + ROWS_COMPARED).map(({ filled }) => filled));
  const width = body < rows.length ? widthFrom(body) : undefined;
  const headers = rows.flatMap((row, at) => {
    const below = width ?? widthFrom(at + 1);
    const isWide = row.filled >= Math.max(Math.min(2, below), below / 2);
    const cellsBelow = rows.slice(at + 1).map(({ addresses }) => addresses);
    return row.isOfTexts && isWide && looksLikeHeader(row.names, cellsBelow) ? [{ row, at }] : [];
  });
  const isOfOne = width !== undefined && width <= 1;

  const naming = headers.filter(({ row, at }) => namesDomains(row.names, at, found));
  // A summary above the list may name such a column too.
  const lowest = naming.findLast(({ row, at }) => isOfOne || (at < body && row.isApart));
  const named = lowest ?? naming[0];
  if (named !== undefined) return named.at;

  // Half as wide are the lines of a summary too, so that such a row has to name the column.
  const above = headers.filter(
    ({ row, at }) => at < body && !isPair(row) && row.filled * 2 > (width ?? 0),
  );
  if (width === undefined) return above.find(({ at }) => widthFrom(at + 1) > 1)?.at ?? 0;
  const nearest = above.at(-1)?.at ?? 0;
  return isOfOne ? nearest : (above.find(({ at }) => at >= blockOf(rows, nearest))?.at ?? 0);
}

/** What is to be said of the rows above a header: that one of them may be a row of the list. */
export function describeAbove(rows: readonly HeadRow[], header: number): readonly string[] {
  const above = rows.slice(0, header).filter((row) => !isPair(row));
  const address = above.flatMap((row) => row.addresses).find(mayBeDomain);
  return address === undefined
    ? []
    : [
        `Above the header stands '${shorten(address)}', which is not looked up: if it is of the list, move the header above it.`,
      ];
}

/** The first row with an address in a column, and how many there are. */
interface Addresses {
  readonly first: number;
  readonly count: number;
}

function addressesByColumn(rows: readonly (readonly string[])[]): ReadonlyMap<number, Addresses> {
  const found = new Map<number, Addresses>();
  for (const [at, cells] of rows.entries()) {
    for (const [column, cell] of cells.entries()) {
      if (!mayBeDomain(cell)) continue;
      const { first, count } = found.get(column) ?? { first: at, count: 0 };
      found.set(column, { first, count: count + 1 });
    }
  }
  return found;
}

/** Whether a row names a column of domains or websites above the first address in it. */
function namesDomains(
  names: readonly string[],
  at: number,
  addresses: ReadonlyMap<number, Addresses>,
): boolean {
  return [...addresses].some(([column, { first }]) => {
    if (first <= at) return false;
    const { kind, isForeign } = meaningOfName(names[column] ?? '');
    return kind !== undefined && kind !== 'email' && !isForeign;
  });
}

/** `Region: | DACH` */
function isPair({ names }: HeadRow): boolean {
  const first = names.find((name) => name.trim() !== '') ?? '';
  return first.trim().endsWith(':');
}

/** Where the rows begin that no blank space sets apart from one. */
function blockOf(rows: readonly HeadRow[], at: number): number {
  let start = at;
  while (start > 0 && rows[start]?.isApart === false) start -= 1;
  return start;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

/** Field names of flattened objects that end like a top-level domain. */
const DOTTED_FIELD =
  /^(?!www\.)\w+(?:\.\w+)*\.(?:name|id|email|website|domains|company|site|host|contact|zip|phone|tel|city|country|page|link|date)$/i;
/** What nobody calls a column. */
const PLAIN_ADDRESS = /[@/]|^\s*www\./i;
/** A column that is called after a site has others in fewer of its cells. */
const SHARE_OF_ADDRESSES = 0.5;
const ROWS_LOOKED_AT = 400;

/**
 * Whether a row can be the header of the rows below it. It cannot if one of its cells is a domain,
 * URL or e-mail address, or says that there is none, and half of the cells below that one are
 * addresses, or if there are none. So a column may be called `Booking.com`. Beside other columns,
 * dotted field names such as `contact.email` count as names, whatever is below them.
 *
 * @param row the cells of the row
 * @param below the rows below it, as cells; 400 of them are looked at
 */
export function looksLikeHeader(
  row: readonly string[],
  below: readonly (readonly string[])[] = [],
): boolean {
  const names = row.map(withoutHint);
  if (names.length === 1) return !isAddress(names[0] ?? '');
  const rows = below.slice(0, ROWS_LOOKED_AT);
  return !names.some((name, index) => {
    const isOfRow = isAddress(name) ? !DOTTED_FIELD.test(name) : saysNone(name);
    if (!isOfRow) return false;
    if (isAddress(name) && (PLAIN_ADDRESS.test(name) || rows.length === 0)) return true;
    return areAddresses(rows.map((row) => row[index] ?? ''));
  });
}

/** `n/a`, where no site is known of the company in the first row. */
function saysNone(name: string): boolean {
  return name.trim() !== '' && isNothing(name) && meaningOfName(name).kind === undefined;
}

/** `Website (such as www.acme.com)` */
function withoutHint(name: string): string {
  const [before = ''] = name.split(/[([]/, 1);
  return meaningOfName(before).kind === undefined ? name : before;
}

function areAddresses(cells: readonly string[]): boolean {
  const filled = cells.filter((cell) => !isNothing(cell));
  const addresses = filled.filter(isAddress);
  return addresses.length > 0 && addresses.length >= SHARE_OF_ADDRESSES * filled.length;
}

function isAddress(cell: string): boolean {
  return 'domain' in normalizeDomain(cell);
}

function mayBeDomain(cell: string): boolean {
  return mayBeRow(cell) && isAddress(cell);
}

/** A word with a dot in it, in any script, also behind a scheme and a slip of the keyboard. */
function mayBeRow(cell: string): boolean {
  const text = cell.trim().replace(/^https?:[\\/]+\s+/i, '');
  return /[.\u3002\uff0e\uff61@]/.test(text) && !/\s/.test(text);
}

const TOTAL =
  /^(?:grand |sub)?(?:totals?|sum|summe|gesamt|insgesamt|somme|suma|totale|totaal|итого|всего|合计|合計|합계|average|mean|durchschnitt|mittelwert|moyenne|promedio)[\s:]*[\d.,]*$/i;

/**
 * Tells of rows, in their order, whether they stand below the list. From a row behind blank space
 * that calls the column otherwise they do: it is the header of another table. They may, if no row
 * of the list follows, where they have several words in the only cell or in that of the domain, and
 * are behind blank space or a line of totals.
 *
 * @param column that of the domain
 */
export function createBelow({
  index,
  name,
}: RowColumn): (cells: readonly string[], isApart: boolean) => ScannedRow['below'] {
  let isBehind = false;
  let isOther = false;
  return (cells, isApart) => {
    const cell = cells[index] ?? '';
    if (isOther) return true;
    if (mayBeRow(cell)) {
      isBehind = false;
      return undefined;
    }
    const [first = '', ...more] = cells.filter((text) => text.trim() !== '');
    isOther = isApart && more.length > 0 && cell !== name && meaningOfName(cell).isPlain;
    if (isOther) return true;
    const isTotal = TOTAL.test(first.trim());
    isBehind ||= isApart || isTotal;
    const isNote = more.length === 0 && /\S\s+\S|:\s*$/.test(first);
    return isBehind && (isTotal || isNote || /\S\s+\S/.test(cell)) ? 'perhaps' : undefined;
  };
}
