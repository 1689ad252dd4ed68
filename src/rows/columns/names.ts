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
    let count = counts.get(name) ?? 1;
    while (taken.has(free)) {
      count += 1;
      free = `${name}_${count}`;
    }
    counts.set(name, count);
    taken.add(free);
    return free;
  });
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
