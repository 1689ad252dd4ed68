/** Keeps the largest entries of any number, one for each domain. */
export interface TopList<T> {
  offer(entry: T): void;
  /** The largest first; among equals, the one that came first. */
  readonly entries: readonly T[];
}

/**
 * @param size how many entries are kept
 * @param weigh gives the weight of an entry; 0 or less keeps it out
 */
export function createTopList<T extends { readonly domain: string }>(
  size: number,
  weigh: (entry: T) => number,
): TopList<T> {
  const kept: T[] = [];
  /** The weight that an entry has to exceed. Nearly all entries that are offered end here. */
  let bar = 0;

  function insert(entry: T): void {
    const worth = weigh(entry);
    const at = kept.findIndex((other) => weigh(other) < worth);
    kept.splice(at === -1 ? kept.length : at, 0, entry);
    if (kept.length > size) kept.pop();
    const last = kept.at(-1);
    bar = kept.length < size || last === undefined ? 0 : weigh(last);
  }

  return {
    offer: (entry) => {
      if (!(weigh(entry) > bar)) return;
      const at = kept.findIndex(({ domain }) => domain === entry.domain);
      const known = kept[at];
      if (known === undefined) return insert(entry);
      if (weigh(entry) <= weigh(known)) return;
      kept.splice(at, 1);
      insert(entry);
    },
    entries: kept,
  };
}
