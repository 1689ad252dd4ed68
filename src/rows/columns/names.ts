import { shortenTo } from '../../common/text.ts';

/**
 * Makes a name that is not taken yet by adding `_2`, `_3`, …
 *
 * @param isTaken whether a name cannot be used
 */
export function untakenName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let count = 2; isTaken(free); count += 1) free = `${name}_${count}`;
  return free;
}

/** Makes every name of a list unique; the first of equal names keeps its own. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  // If thousands of columns have one name, each would search for its suffix from the start.
  const counts = new Map<string, number>();
  return names.map((name) => {
    let free = name;
    while (taken.has(free)) {
      const count = (counts.get(name) ?? 1) + 1;
      counts.set(name, count);
      free = `${name}_${count}`;
    }
    taken.add(free);
    return free;
  });
}

/** A row of a table as an object for programs. Columns without a name are named by their place. */
export function objectOf<T>(
  columns: readonly string[],
  cells: readonly (T | undefined)[],
  blank: T,
): Record<string, T> {
  const width = Math.max(columns.length, cells.length);
  const names = Array.from({ length: width }, (_, at) => columns[at] || `column_${at + 1}`);
  return Object.fromEntries(uniqueNames(names).map((name, at) => [name, cells[at] ?? blank]));
}

/** Makes text from a file fit for one line of a message. */
export function shorten(text: string): string {
  return shortenTo(text, 60);
}

const MOST_LISTED = 30;

/** Names for a message: the first thirty, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MOST_LISTED).map(shorten).join(', ');
  const more = names.length - MOST_LISTED;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
