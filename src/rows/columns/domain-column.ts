import { normalizeDomain } from '../domain/domain.ts';
import { isNothing } from '../domain/pieces.ts';
import { meaningOfName, type NameKind } from './column-name.ts';

/** The column that a row's domain is taken from. */
export interface DomainColumn {
  /** position among the columns, from 0 */
  readonly index: number;
  /** the name as it is in the file */
  readonly name: string;
  /** how the column was found */
  readonly by: 'name' | 'content' | 'option';
  /** the first sample cell that holds a domain, as it is in the file */
  readonly example: string | undefined;
  /** other columns that may be meant, the most likely first; missing if there are none */
  readonly others?: readonly Pick<DomainColumn, 'index' | 'name'>[];
}

const MAX_SAMPLE_ROWS = 400;
/** The most columns that a spreadsheet can have; no column beyond them is guessed. */
const MAX_COLUMNS = 16_384;
/** A dirty list is still a list: only a smaller share of domains speaks against a plain name. */
const MIN_SHARE_NAMED = 0.5;
/**
 * Without a telling name, nearly every cell has to be a domain. Free text that mentions domains is
 * far below.
 */
const MIN_SHARE_UNNAMED = 0.8;
/** A column with a smaller share of filled cells counts as blank beside a fuller one. */
const NEARLY_BLANK = 0.1;
/** Field names of flattened objects that end like a top-level domain. */
const DOTTED_FIELD =
  /^(?!www\.)\w+(?:\.\w+)*\.(?:name|id|email|website|domains|company|site|host|contact|zip|phone|tel|city|country|page|link|date)$/i;

/**
 * The worth of a column before its cells count; cells add up to 40. An e-mail column, however full,
 * is worth less than any website column with something in it.
 */
const WORTH: Readonly<Record<NameKind, number>> = { domain: 90, web: 80, email: 52 };
const WORTH_UNNAMED = { address: 70, email: 37 };
const LESS_WHEN_NEARLY_BLANK = 40;

/**
 * Finds the column that most likely holds the domains, by its name and its cells together.
 *
 * A plain name (`domain`, then `website` or `url`, then `email`) is believed unless its cells
 * contradict it, and needs no cells. Any other column needs cells that normalise to domains: four
 * in five without a telling name, half in a list of one column. A column whose name speaks against
 * it, links that all lead to one site, such as profiles, and pictures do not count. E-mail addresses
 * count if there is no website column, or hardly anything in it. If several columns are plausible,
 * the best one is taken, the leftmost of equals, and the others are named.
 *
 * @param columns names of the columns
 * @param sample the first rows, as cells; 400 of them are looked at
 */
export function guessDomainColumn(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
): DomainColumn | undefined {
  const rows = spread(sample);
  const candidates = columns.slice(0, MAX_COLUMNS).flatMap((name, index) => {
    const evidence = evidenceOf(rows.map((row) => row[index] ?? ''));
    const worth = worthOf(name, evidence, columns.length === 1);
    return worth > 0 ? [{ index, name, worth, evidence }] : [];
  });
  const [best, ...others] = candidates.sort((one, other) => other.worth - one.worth);
  if (best === undefined) return undefined;
  const { index, name, evidence } = best;
  const plausible = others
    .filter((other) => other.evidence.domains > 0 && !other.evidence.isOneSite)
    .map((other) => ({ index: other.index, name: other.name }));
  return {
    index,
    name,
    by: meaningOfName(name).kind === undefined ? 'content' : 'name',
    example: evidence.example,
    ...(plausible.length > 0 && { others: plausible }),
  };
}

function worthOf(
  name: string,
  { filled, domains, isEmail, isOneSite, isOfPictures }: ColumnEvidence,
  isOnlyColumn: boolean,
): number {
  const { kind, isForeign } = meaningOfName(name);
  if ((isForeign || isOfPictures) && !isOnlyColumn) return 0;
  const ofName = kind && WORTH[kind];
  if (filled === 0) return (ofName ?? 0) / 3;
  if (domains < (kind || isOnlyColumn ? MIN_SHARE_NAMED : MIN_SHARE_UNNAMED)) return 0;
  if (isOneSite && !isOnlyColumn) return (ofName ?? 0) / 6;
  const ofCells = 20 * filled + 20 * domains - (filled < NEARLY_BLANK ? LESS_WHEN_NEARLY_BLANK : 0);
  return (ofName ?? WORTH_UNNAMED[isEmail ? 'email' : 'address']) + ofCells;
}

/**
 * Finds a column by name: exactly, else with white space of any kind as one space and without
 * invisible signs and case. A name that a message cut short is found too. Whatever a message shows
 * can therefore be typed. Of several columns with the name, the one is taken whose cells hold more
 * domains, and the others are told.
 *
 * @param sample the first rows, as cells
 */
export function findColumn(
  columns: readonly string[],
  name: string,
  sample: readonly (readonly string[])[] = [],
): DomainColumn | undefined {
  const indexes = indexesOf(columns, name);
  const [first] = indexes;
  if (first === undefined) return undefined;
  const index = indexes.length === 1 ? first : fullestOf(indexes, sample);
  const others = indexes
    .filter((other) => other !== index)
    .map((index) => ({ index, name: columns[index] ?? name }));
  return {
    index,
    name: columns[index] ?? name,
    by: 'option',
    example: undefined,
    ...(others.length > 0 && { others }),
  };
}

function indexesOf(columns: readonly string[], name: string): readonly number[] {
  const wanted = foldName(name);
  const start = wanted.endsWith('…') ? wanted.slice(0, -1) : undefined;
  const ways: readonly ((column: string) => boolean)[] = [
    (column) => column === name,
    (column) => foldName(column) === wanted,
    (column) => start !== undefined && foldName(column).startsWith(start),
  ];
  for (const isMeant of ways) {
    const found = columns.flatMap((column, index) => (isMeant(column) ? [index] : []));
    if (found.length > 0) return found;
  }
  return [];
}

function fullestOf(indexes: readonly number[], sample: readonly (readonly string[])[]): number {
  const rows = spread(sample);
  const fullness = (index: number): number => {
    const { filled, domains } = evidenceOf(rows.map((row) => row[index] ?? ''));
    return filled * domains + filled / 1_000;
  };
  return indexes.reduce((best, index) => (fullness(index) > fullness(best) ? index : best));
}

/**
 * Whether a row can be the header of the rows below it. It cannot if one of its cells is a domain,
 * URL or e-mail address and so are half of the cells below that one, or if there are none. So a
 * column may be called `Booking.com`. Beside other columns, dotted field names such as
 * `contact.email` count as names, whatever is below them.
 *
 * @param names the cells of the row
 * @param below the rows below it, as cells; 400 of them are looked at
 */
export function looksLikeHeader(
  names: readonly string[],
  below: readonly (readonly string[])[] = [],
): boolean {
  if (names.length === 1) return !isAddress(names[0] ?? '');
  const rows = spread(below);
  return !names.some(
    (name, index) =>
      isAddress(name) &&
      !DOTTED_FIELD.test(name) &&
      (rows.length === 0 || areAddresses(rows.map((row) => row[index] ?? ''))),
  );
}

function areAddresses(cells: readonly string[]): boolean {
  const filled = cells.filter((cell) => !isNothing(cell));
  const addresses = filled.filter(isAddress);
  return addresses.length > 0 && addresses.length >= MIN_SHARE_NAMED * filled.length;
}

/** The column that a row names as one of domains or websites, where the rows below have one in it; or -1. */
export function columnOfDomains(
  names: readonly string[],
  below: readonly (readonly string[])[],
): number {
  return names.findIndex((name, index) => {
    const { kind, isForeign } = meaningOfName(name);
    return kind !== undefined && kind !== 'email' && !isForeign && hasAddress(below, index);
  });
}

/** Whether some row has an address and nothing else in a column. */
export function hasAddress(rows: readonly (readonly string[])[], column: number): boolean {
  return rows.some((cells) => {
    const cell = cells[column]?.trim() ?? '';
    return !/\s/.test(cell) && isAddress(cell);
  });
}

function isAddress(cell: string): boolean {
  return 'domain' in normalizeDomain(cell);
}

/** A name as people tell names apart: white space is one space, and what cannot be seen is nothing. */
function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toLowerCase();
}

/** Facts about the sample cells of one column. */
type ColumnEvidence = ReturnType<typeof evidenceOf>;

const PICTURE = /\.(?:png|jpe?g|gif|svg|webp|ico)(?:\?.*)?$/is;
const ONE_SITE_SHARE = 0.9;

/** Gathers facts about the cells of a column. */
function evidenceOf(cells: readonly string[]) {
  const filled = cells.filter((cell) => !isNothing(cell));
  const perSite = new Map<string, number>();
  let domains = 0;
  let emails = 0;
  let example: string | undefined;
  for (const cell of filled) {
    const result = normalizeDomain(cell, { registrable: true });
    // Several addresses are none to look up, but show what the column is for.
    if ('invalid' in result && result.invalid !== 'several_domains') continue;
    domains += 1;
    if (/^[^/]*@/.test(cell)) emails += 1;
    if ('invalid' in result) continue;
    example ??= cell;
    perSite.set(result.domain, (perSite.get(result.domain) ?? 0) + 1);
  }
  const largest = Math.max(0, ...perSite.values());
  return {
    /** share of all sampled rows that are not blank, 0 to 1 */
    filled: share(filled.length, cells.length),
    /** share of the cells that are not blank and hold a domain, or several of them, 0 to 1 */
    domains: share(domains, filled.length),
    /** most of these are e-mail addresses */
    isEmail: emails * 2 > domains,
    /** most cells are the address of a picture */
    isOfPictures: filled.filter((cell) => PICTURE.test(cell)).length * 2 > filled.length,
    /** three cells or more and nearly all at one registrable domain: links into one site */
    isOneSite: domains >= 3 && largest >= ONE_SITE_SHARE * domains,
    /** the first cell that holds a domain, as it is in the file */
    example,
  };
}

/** Rows from all over a sample: lists are sorted, often with blanks first. */
function spread<T>(sample: readonly T[]): readonly T[] {
  const step = Math.ceil(sample.length / MAX_SAMPLE_ROWS);
  return step <= 1 ? sample : sample.filter((_, at) => at % step === 0);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
