import { isNothing } from '../domain/address.ts';
import { readCell } from '../domain/domain.ts';
import type { RowColumn } from '../row-format.ts';
import { meaningOfName, type NameKind } from './column-name.ts';
import { shorten } from './names.ts';

/** The column that a row's domain is taken from. */
export interface DomainColumn extends RowColumn {
  /** how the column was found */
  readonly by: 'name' | 'content' | 'option';
  /** the first sample cell that holds a domain, as it is in the file */
  readonly example: string | undefined;
  /** other columns that may be meant, the most likely first */
  readonly others: readonly RowColumn[];
}

const MAX_SAMPLE_ROWS = 400;
/** The most columns that a spreadsheet can have; no column beyond them is guessed. */
const MAX_COLUMNS = 16_384;
/**
 * A dirty list is still a list: only a smaller share of addresses speaks against a name that says
 * no more.
 */
const MIN_SHARE_NAMED = 0.5;
/**
 * Without such a name, nearly every cell has to be an address. Free text that mentions addresses is
 * far below.
 */
const MIN_SHARE_UNNAMED = 0.8;
/** A column with a smaller share of filled cells counts as blank beside a fuller one. */
const NEARLY_BLANK = 0.1;
/**
 * The worth of a column by what its name tells, and by its cells where it tells nothing; how full
 * it is adds up to 40. So a telling name beats fullness, and addresses on the web beat those of
 * e-mail.
 */
const WORTH: Readonly<Record<NameKind, number>> = { domain: 300, web: 250, email: 60 };
const WORTH_UNNAMED = { address: 110, email: 30 };
/** Of a name that says something else too: `Conference website`. */
const LESS_IF_QUALIFIED = 90;
/** A column that is blank, nearly so, or has one site for all comes behind all others. */
const PART_OF_WORTH = { blank: 1 / 500, nearlyBlank: 1 / 10, oneSite: 1 / 400 };

/**
 * Judges the columns of a table by their names and their cells together: the likeliest first, the
 * leftmost of equals.
 *
 * A telling name (`domain`, then `website` or `url`, then `email`) is believed unless its cells
 * contradict it, and needs no cells. Any other column needs cells that are addresses, four in five.
 * Never taken are a column whose name speaks against it, sentences, links into one site, pictures
 * and files.
 *
 * @param columns names of the columns
 * @param sample rows from all over the list, as cells; 400 of them are looked at
 */
export function judgeColumns(columns: readonly string[], sample: readonly (readonly string[])[]) {
  const rows = spread(sample);
  const isOnly = columns.length === 1;
  return columns
    .slice(0, MAX_COLUMNS)
    .map((name, index) => {
      const profile = profileOf(rows.map((row) => row[index] ?? ''));
      /** Why it is not taken, as a clause. */
      const flaw = flawOf(name, profile, isOnly);
      /** 0 for one that is not taken unless it is named. */
      const worth = flaw === undefined ? worthOf(name, profile) : 0;
      return { index, name, profile, worth, flaw };
    })
    .sort((one, other) => other.worth - one.worth);
}

/** Finds the column that most likely holds the domains, and names the others that may be meant. */
export function guessDomainColumn(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
): DomainColumn | undefined {
  const [best, ...others] = judgeColumns(columns, sample);
  if (best === undefined || best.worth === 0) return undefined;
  const { index, name, profile } = best;
  const possible = others
    .filter((other) => other.name === name || isPossible(other.profile))
    .map((other) => ({ index: other.index, name: other.name }));
  const by = meaningOfName(name).kind === undefined ? 'content' : 'name';
  return { index, name, by, example: profile.example, others: possible };
}

function isPossible({ held, mentions, isOneSite, isOfFiles }: ColumnProfile): boolean {
  return held > 0 && mentions >= MIN_SHARE_NAMED && !isOneSite && !isOfFiles;
}

function flawOf(name: string, profile: ColumnProfile, isOnly: boolean): string | undefined {
  const { cells, held, addresses, mentions, isOneSite, isOfFiles, isOfPages } = profile;
  const { kind, isPlain, isForeign } = meaningOfName(name);
  const called = `'${shorten(name)}'`;
  const such = `(such as '${shorten(profile.example ?? '')}')`;
  if (isForeign && !isOnly) return `the name of ${called} ${such} speaks against it`;
  if (cells === 0) return kind === undefined ? `${called} is blank` : undefined;
  if (isOfFiles && !isOnly) return `${called} has pictures or files`;
  const isEnough =
    (kind === undefined ? addresses : mentions) >= (isPlain ? MIN_SHARE_NAMED : MIN_SHARE_UNNAMED);
  if (!isEnough) {
    const but = shorten(profile.counterexample ?? '');
    return `${held} of ${cells} cells of ${called} hold a domain, and '${but}' is none`;
  }
  const isBare = kind !== undefined && kind !== 'email' && !isOfPages;
  if (!isOneSite || isOnly || isBare) return undefined;
  return `all of ${called} ${such} leads to one site`;
}

function worthOf(name: string, { filled, mentions, isEmail, isOneSite }: ColumnProfile): number {
  const { kind, isPlain } = meaningOfName(name);
  const less = kind === undefined || isPlain ? 0 : kind === 'email' ? 10 : LESS_IF_QUALIFIED;
  const ofName = kind ? WORTH[kind] - less : WORTH_UNNAMED[isEmail ? 'email' : 'address'];
  const worth = ofName + 20 * filled + 20 * mentions;
  if (filled === 0) return worth * PART_OF_WORTH.blank;
  if (isOneSite) return worth * PART_OF_WORTH.oneSite;
  return filled < NEARLY_BLANK ? worth * PART_OF_WORTH.nearlyBlank : worth;
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
  const judged = indexes.length === 1 ? [] : judgeColumns(columns, sample);
  const best = judged.find(({ index }) => indexes.includes(index))?.index ?? first;
  const at = (index: number): RowColumn => ({ index, name: columns[index] ?? name });
  const others = indexes.filter((other) => other !== best).map(at);
  return { ...at(best), by: 'option', example: undefined, others };
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

/**
 * A name as people tell names apart: white space is one space, and what cannot be seen is nothing.
 */
function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toLowerCase();
}

/** Rows from all over a sample: lists are sorted, often with blanks first. */
function spread<T>(sample: readonly T[]): readonly T[] {
  const step = Math.ceil(sample.length / MAX_SAMPLE_ROWS);
  return step <= 1 ? sample : sample.filter((_, at) => at % step === 0);
}

/** What is in the cells of a column, from all over a list. */
type ColumnProfile = ReturnType<typeof profileOf>;

/** Pictures, and bare names with the ending of a file that is also a top-level domain. */
const PICTURE = /\.(?:png|jpe?g|gif|svg|webp|ico)(?:\?.*)?$/i;
const FILE = /^(?!www\.)[^/:@\s]+\.(?:zip|md|py|sh|mov|ps|cab)$/i;
const PAGE = /^(?:[^/]*\/\/)?[^/]+\/./;
const ONE_SITE_SHARE = 0.9;
/** A cell with more words beside its address is a sentence. */
const MOST_WORDS = 2;

/** Gathers facts about the cells of a column. */
function profileOf(cells: readonly string[]) {
  const all = cells.filter((cell) => !isNothing(cell));
  const perSite = new Map<string, number>();
  const others = new Map<string, number>();
  const count = { addresses: 0, loose: 0, emails: 0, files: 0, pages: 0 };
  let example: string | undefined;
  let counterexample: string | undefined;
  for (const cell of all) {
    const found = readCell(cell, true);
    if (PICTURE.test(cell) || FILE.test(cell)) count.files += 1;
    // Several addresses are none to look up, but show what the column is for.
    if ('invalid' in found && found.invalid !== 'several_domains') {
      others.set(cell, (others.get(cell) ?? 0) + 1);
      counterexample ??= cell;
      continue;
    }
    const words = 'invalid' in found ? 0 : (found.words ?? 0);
    if (words > 0) counterexample ??= cell;
    if (words > MOST_WORDS) continue;
    if (words > 0) count.loose += 1;
    else count.addresses += 1;
    if (/^[^/]*@/.test(cell)) count.emails += 1;
    if (PAGE.test(cell)) count.pages += 1;
    if ('invalid' in found) continue;
    example ??= cell;
    perSite.set(found.domain, (perSite.get(found.domain) ?? 0) + 1);
  }
  const some = count.addresses + count.loose;
  const blanks = some * 2 < all.length ? 0 : wordsForNone([...others.values()], all.length);
  const filled = all.length - blanks;
  return {
    /** share of all rows that are not blank, 0 to 1 */
    filled: share(filled, cells.length),
    /** how many cells are not blank, and hold an address, or several */
    cells: filled,
    held: some,
    /** share of the cells that are not blank and are an address, or several of them, 0 to 1 */
    addresses: share(count.addresses, filled),
    /** share of those, and of the cells that have an address among a word or two, 0 to 1 */
    mentions: share(some, filled),
    /** most of these are e-mail addresses */
    isEmail: count.emails * 2 > some,
    /** most cells are the address of a picture, or the name of a file */
    isOfFiles: count.files * 2 > filled,
    /** three cells or more and nearly all at one registrable domain */
    isOneSite: some >= 3 && Math.max(0, ...perSite.values()) >= ONE_SITE_SHARE * some,
    /** most addresses have a path, as links into a site have */
    isOfPages: count.pages * 2 > some,
    /** the first cell that holds a domain, as it is in the file */
    example,
    /** the first that holds none, or words beside it */
    counterexample,
  };
}

/** A column has a word or two for none, which stand in many cells. */
function wordsForNone(counts: readonly number[], cells: number): number {
  const often = counts.filter((count) => count >= 3 && count * 10 >= cells);
  return often.length > 2 ? 0 : often.reduce((sum, count) => sum + count, 0);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
