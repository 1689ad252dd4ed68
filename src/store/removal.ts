import { setImmediate } from 'node:timers/promises';
import type { Database } from 'lmdb';
import type { Shape } from '../brand/shape.ts';
import { decodeHead, readTable, timeIn } from './entries.ts';
import { forgetSavedColumns, pruneSavedColumns } from './saved-columns.ts';
import type { Deleted, Pruned } from './stats.ts';
import { endpointIdsIn, keyOf, type StoreTables } from './tables.ts';

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
  const { lock, meta, answers, failures, ready, leftOver, logos } = tables;
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
      else if (keys.length > 0)
        count += await lock.hold(() => removeKeys([table, ready], keys, isOld));
    }
    return count;
  }

  if (!options.dryRun) {
    await lock.hold(() => pruneSavedColumns(meta, options.endpointId, isOldAt));
  }
  const counts = {
    answers: await prune(answers, isOldIn(answers)),
    failures: await prune(failures, isOldIn(failures)),
    leftOver: await prune(leftOver, (key) => isOldAt(leftOver.get(key))),
    logos: await prune(logos, (key) => !answers.doesExist(key) || isOldIn(answers)(key)),
  };
  if (!options.dryRun) await removeUnusedShapes(tables);
  return counts;
}

export interface DeleteDomainsOptions {
  readonly domains: readonly string[];
  /** @default all APIs */
  readonly endpointId: string | undefined;
  /** Whether to count without removing. */
  readonly dryRun: boolean;
}

/**
 * Removes all that a store has of some domains, even while runs use it: outcomes, notes on left-over
 * domains and on logos, and names that no other answer has, which may be data as well.
 */
export async function deleteDomains(
  tables: StoreTables,
  { domains, endpointId, dryRun }: DeleteDomainsOptions,
): Promise<Deleted> {
  const { lock, meta, answers, failures, ready, leftOver, logos, shapes, shapeTexts } = tables;
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
    return await lock.hold(() => removeKeys([table, ready], keys, isThere));
  }

  const counts = {
    answers: await removeFrom(answers),
    failures: await removeFrom(failures),
    leftOver: await removeFrom(leftOver),
    logos: await removeFrom(logos),
  };
  if (!dryRun && counts.answers > 0) {
    await removeUnusedShapes(tables);
    function* left(): Generator<Shape> {
      for (const id of shapeTexts.getKeys()) yield shapes.find(id) ?? [];
    }
    for (const id of ids) await lock.hold(() => forgetSavedColumns(meta, id, left()));
  }
  return { ...counts, unknown: [...unknown] };
}

/**
 * Removes keys from a table and from what is made of it, in one transaction. Call it while the lock
 * of the store is held.
 *
 * @param isToGo asked again within the transaction, since a run may have renewed an entry meanwhile
 * @returns how many were removed
 */
async function removeKeys<T>(
  [table, ready]: readonly [Database<T, string>, Database<Buffer, string>],
  keys: readonly string[],
  isToGo: (key: string) => boolean,
): Promise<number> {
  return await table.transaction(() => {
    const going = keys.filter(isToGo);
    for (const key of going) {
      table.removeSync(key);
      ready.removeSync(key);
    }
    return going.length;
  });
}

/**
 * Removes the shapes that no answer has, and those of older versions that are too large to be used.
 * Few shapes are unused, and most are met early, so that seldom all answers are gone through.
 */
export async function removeUnusedShapes(tables: StoreTables): Promise<void> {
  const { root, lock, answers, shapes, shapeTexts } = tables;
  root.resetReadTxn();
  const unused = new Set<number>();
  const broken: number[] = [];
  for (const id of shapeTexts.getKeys()) {
    if (shapes.find(id)) unused.add(id);
    else broken.push(id);
  }
  for (const batch of readTable(answers, undefined)) {
    if (unused.size === 0) break;
    for (const { value } of batch) unused.delete(decodeHead(value)?.shapeId ?? 0);
    await setImmediate();
  }
  if (unused.size + broken.length === 0) return;
  // An answer that has come meanwhile may have one of them. After this, it brings its shape along.
  await lock.hold(() =>
    root.transaction(() => {
      for (const batch of readTable(answers, undefined)) {
        if (unused.size === 0) break;
        for (const { value } of batch) unused.delete(decodeHead(value)?.shapeId ?? 0);
      }
      for (const id of [...unused, ...broken]) shapeTexts.removeSync(id);
    }),
  );
}
