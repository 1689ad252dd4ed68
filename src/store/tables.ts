import type { Database, RootDatabase } from 'lmdb';
import { type LmdbFile, type OpenLmdbOptions, openLmdb } from './lmdb-file.ts';
import { createShapeRegistry, type ShapeRegistry, type ShapeTable } from './shapes.ts';
import type { StoreLock } from './store-lock.ts';
import { type ToldWrites, tellWrites } from './told-writes.ts';

/** What lies in a store, for all APIs. Keys are those of {@link keyOf}. */
export interface StoreTables extends Omit<LmdbFile, 'commit'>, ToldWrites {
  /** `found`, `not_found` and `rejected`. */
  readonly answers: Database<Buffer, string>;
  /** `failed`, beside the answer that a domain may have. */
  readonly failures: Database<Buffer, string>;
  /** Since when domains have been left over. */
  readonly leftOver: Database<number, string>;
  /** What is known of logos. */
  readonly logos: Database<unknown, string>;
  readonly shapes: ShapeRegistry;
  /** Calls that were taken from a budget, by credential and unit. */
  readonly calls: Database<unknown, string>;
}

/**
 * Opens the tables of the store in a folder, which is made if it is not there.
 *
 * @throws BrandfillError `UNUSABLE_STORE`
 */
export async function openTables(
  folder: string,
  options: OpenLmdbOptions = {},
): Promise<StoreTables> {
  const open = (file: LmdbFile): Omit<StoreTables, keyof LmdbFile> & ToldWrites => {
    const { root } = file;
    const writes = tellWrites(folder, file);
    return {
      ...writes,
      answers: root.openDB('answers', { encoding: 'binary' }),
      failures: root.openDB('failures', { encoding: 'binary' }),
      leftOver: root.openDB('left-over', { encoding: 'json' }),
      logos: root.openDB('logos', { encoding: 'json' }),
      calls: root.openDB('calls', { encoding: 'json' }),
      shapes: createShapeRegistry(shapeTable(root, writes.lock)),
    };
  };
  return await openLmdb(folder, open, options);
}

/** The key of a domain's outcome. */
export function keyOf(endpointId: string, domain: string): string {
  return `${endpointId}:${domain}`;
}

/** The keys of one endpoint, or of all. */
export function keysOf(endpointId: string | undefined): { start?: string; end?: string } {
  return endpointId === undefined ? {} : { start: `${endpointId}:`, end: `${endpointId};` };
}

const API_NAME = 'api:';

/** Notes what an API is called, for whoever looks after the store. */
export async function noteApiName(
  { meta, lock }: Pick<StoreTables, 'meta' | 'lock'>,
  endpointId: string,
  name: string,
): Promise<void> {
  const key = API_NAME + endpointId;
  if (meta.get(key) !== name) await lock.hold(() => meta.put(key, name));
}

/** What an API is called; undefined when no run has told. */
export function findApiName(meta: LmdbFile['meta'], endpointId: string): string | undefined {
  const name = meta.get(API_NAME + endpointId);
  return typeof name === 'string' ? name : undefined;
}

function shapeTable(root: RootDatabase, lock: StoreLock): ShapeTable {
  const table = root.openDB<string, number>('shapes', { encoding: 'string' });
  return {
    get: (id) => table.get(id),
    put: (id, json) => {
      // Committed in order: no outcome is ever there before its shape. If the commit fails, so does
      // that of the outcome, and there it is reported.
      lock.hold(() => table.put(id, json)).catch(() => {});
    },
  };
}
