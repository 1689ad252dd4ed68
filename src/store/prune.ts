import type { Database } from 'lmdb';
import { readTable, timeIn } from './entries.ts';
import type { StoreTables } from './tables.ts';

export interface PruneOptions {
  /** What was fetched before this time goes, in milliseconds since 1970. */
  readonly beforeMs: number;
  /** @default all APIs */
  readonly endpointId: string | undefined;
  /** Only counts. */
  readonly dryRun: boolean;
}

/** What was removed, or would be. */
export interface Pruned {
  readonly answers: number;
  readonly failures: number;
  /** Notes of domains that no run has come to since. */
  readonly leftOver: number;
  /** Notes of logos of domains that have no answer any more. Their files stay. */
  readonly logos: number;
}

/** Removes what is older from a store, also while runs use it: what they renew meanwhile stays. */
export async function pruneTables(tables: StoreTables, options: PruneOptions): Promise<Pruned> {
  const { answers, failures, leftOver, logos } = tables;
  const { beforeMs } = options;
  const isOldIn =
    (table: Database<Buffer, string>) =>
    (key: string): boolean =>
      (timeIn(table, key) ?? beforeMs) < beforeMs;
  return {
    answers: await pruneTable(answers, isOldIn(answers), options),
    failures: await pruneTable(failures, isOldIn(failures), options),
    leftOver: await pruneTable(
      leftOver,
      (key) => (leftOver.get(key) ?? beforeMs) < beforeMs,
      options,
    ),
    logos: await pruneTable(
      logos,
      (key) => !answers.doesExist(key) || isOldIn(answers)(key),
      options,
    ),
  };
}

async function pruneTable<T>(
  table: Database<T, string>,
  isOld: (key: string) => boolean,
  { endpointId, dryRun }: PruneOptions,
): Promise<number> {
  let count = 0;
  for (const batch of readTable(table, endpointId)) {
    const keys = batch.map(({ key }) => key).filter(isOld);
    if (dryRun) count += keys.length;
    else if (keys.length > 0) count += await removeOld(table, keys, isOld);
  }
  return count;
}

async function removeOld<T>(
  table: Database<T, string>,
  keys: readonly string[],
  isOld: (key: string) => boolean,
): Promise<number> {
  return await table.transaction(() => {
    const old = keys.filter(isOld);
    for (const key of old) table.removeSync(key);
    return old.length;
  });
}
