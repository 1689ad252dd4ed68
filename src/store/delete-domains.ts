import type { Database } from 'lmdb';
import { removeKeys } from './remove-keys.ts';
import type { Deleted } from './stats.ts';
import { endpointIdsIn, keyOf, type StoreTables } from './tables.ts';

export interface DeleteDomainsOptions {
  readonly domains: readonly string[];
  /** @default all APIs */
  readonly endpointId: string | undefined;
  /** Whether to count without removing. */
  readonly dryRun: boolean;
}

/**
 * Removes all that a store has of some domains, even while runs use it: outcomes, and notes on
 * left-over domains and on logos.
 */
export async function deleteDomains(
  tables: StoreTables,
  { domains, endpointId, dryRun }: DeleteDomainsOptions,
): Promise<Deleted> {
  const { lock, answers, failures, leftOver, logos } = tables;
  const ids = endpointId === undefined ? endpointIdsIn(tables) : [endpointId];
  const unknown = new Set(domains);

  async function removeFrom<T>(table: Database<T, string>): Promise<number> {
    const isThere = (key: string): boolean => table.doesExist(key);
    const keys: string[] = [];
    for (const domain of new Set(domains)) {
      const found = ids.map((id) => keyOf(id, domain)).filter(isThere);
      if (found.length > 0) unknown.delete(domain);
      keys.push(...found);
    }
    if (dryRun || keys.length === 0) return keys.length;
    return await lock.hold(() => removeKeys(table, keys, isThere));
  }

  const counts = {
    answers: await removeFrom(answers),
    failures: await removeFrom(failures),
    leftOver: await removeFrom(leftOver),
    logos: await removeFrom(logos),
  };
  return { ...counts, unknown: [...unknown] };
}
