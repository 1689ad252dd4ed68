import type { Database } from 'lmdb';

/**
 * Removes keys in one transaction. Call it while the lock of the store is held.
 *
 * @param isToGo asked again within the transaction, since a run may have renewed an entry meanwhile
 * @returns how many were removed
 */
export async function removeKeys<T>(
  table: Database<T, string>,
  keys: readonly string[],
  isToGo: (key: string) => boolean,
): Promise<number> {
  return await table.transaction(() => {
    const going = keys.filter(isToGo);
    for (const key of going) table.removeSync(key);
    return going.length;
  });
}
