import { shortenTo } from '../../common/text.ts';

/**
 * Makes a function that makes names unique by adding `_2`, `_3`, …; the first of equal names keeps
 * its own.
 *
 * @param isTaken whether a name cannot be used in any case. @default none is
 */
export function createNamer(isTaken: (name: string) => boolean = () => false) {
  const used = new Set<string>();
  // If thousands of columns have one name, each would search for its suffix from the start.
  const counts = new Map<string, number>();
  return (name: string): string => {
    let free = name;
    while (used.has(free) || isTaken(free)) {
      const count = (counts.get(name) ?? 1) + 1;
      counts.set(name, count);
      free = `${name}_${count}`;
    }
    used.add(free);
    return free;
  };
}

/** A row of a table as an object for programs. Columns without a name are named by their place. */
export function objectOf<T>(
  columns: readonly string[],
  cells: readonly (T | undefined)[],
  blank: T,
): Record<string, T> {
  const width = Math.max(columns.length, cells.length);
  const nameOf = createNamer();
  const names = Array.from({ length: width }, (_, at) => nameOf(columns[at] || `column_${at + 1}`));
  return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? blank]));
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
