import type { Database } from 'lmdb';
import { readTable, timeIn } from './entries.ts';
import { removeKeys } from './remove-keys.ts';
import { pruneSavedColumns } from './saved-columns.ts';
import type { Pruned } from './stats.ts';
import type { StoreTables } from './tables.ts';

export interface PruneOptions {
  /**
   * The age in milliseconds above which outcomes are removed. Outcomes dated that far in the future
   * are removed too.
   */
  readonly olderThanMs: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** @default all APIs */
  readonly endpointId: string | undefined;
  /** Whether to count without removing. */
  readonly dryRun: boolean;
}

type IsOld = (key: string) => boolean;

/** Removes old outcomes from a store, even while runs use it. Outcomes renewed meanwhile stay. */
export async function pruneTables(tables: StoreTables, options: PruneOptions): Promise<Pruned> {
  const { lock, meta, answers, failures, leftOver, logos } = tables;
  const isOldAt = (atMs: number | undefined): boolean =>
    atMs !== undefined && Math.abs(options.nowMs - atMs) > options.olderThanMs;
  const isOldIn =
    (table: Database<Buffer, string>): IsOld =>
    (key) =>
      isOldAt(timeIn(table, key));
  async function prune<T>(table: Database<T, string>, isOld: IsOld): Promise<number> {
    let count = 0;
    for (const batch of readTable(table, options.endpointId)) {
      const keys = batch.map(({ key }) => key).filter(isOld);
      if (options.dryRun) count += keys.length;
      else if (keys.length > 0) count += await lock.hold(() => removeKeys(table, keys, isOld));
    }
    return count;
  }

  if (!options.dryRun) {
    await lock.hold(() => pruneSavedColumns(meta, options.endpointId, isOldAt));
  }
  return {
    answers: await prune(answers, isOldIn(answers)),
    failures: await prune(failures, isOldIn(failures)),
    leftOver: await prune(leftOver, (key) => isOldAt(leftOver.get(key))),
    logos: await prune(logos, (key) => !answers.doesExist(key) || isOldIn(answers)(key)),
  };
}
