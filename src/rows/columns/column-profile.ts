import { readCell } from '../domain/domain.ts';
import { isNothing } from '../domain/pieces.ts';

/** What is in the cells of a column, from all over a list. */
export type ColumnProfile = ReturnType<typeof profileOf>;

/** Pictures, and bare names with the ending of a file that is also a top-level domain. */
const PICTURE = /\.(?:png|jpe?g|gif|svg|webp|ico)(?:\?.*)?$/i;
const FILE = /^(?!www\.)[^/:@\s]+\.(?:zip|md|py|sh|mov|ps|cab)$/i;
const PAGE = /^(?:[^/]*\/\/)?[^/]+\/./;
const ONE_SITE_SHARE = 0.9;
/** A cell with more words beside its address is a sentence. */
const MOST_WORDS = 2;

/** Gathers facts about the cells of a column. */
export function profileOf(cells: readonly string[]) {
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
