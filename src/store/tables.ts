import type { Database } from 'lmdb';
import { type LmdbFile, type OpenLmdbOptions, openLmdb } from './lmdb-file.ts';
import { createWrites, type Writes } from './writes.ts';

/** The tables of a store, for all APIs. Keys are made by {@link keyOf}. */
export interface StoreTables extends Pick<LmdbFile, 'id' | 'meta' | 'root'>, Writes {
  /** `found`, `not_found` and `rejected`. */
  readonly answers: Database<Buffer, string>;
  /** `failed` and `pending`, beside the answer that a domain may have. */
  readonly failures: Database<Buffer, string>;
  /** Notes on logos. */
  readonly logos: Database<unknown, string>;
  /** What was last reported of rows: see `reported.ts`. */
  readonly reported: Database<Buffer, string>;
  /** Calls that were taken from a budget, by credential and unit. */
  readonly calls: Database<unknown, string>;
}

/**
 * Opens the tables of the store in a folder, which is created if it does not exist.
 *
 * @throws BrandfillError `UNUSABLE_STORE`
 */
export async function openTables(
  folder: string,
  options: OpenLmdbOptions = {},
): Promise<StoreTables> {
  const open = (file: LmdbFile): Omit<StoreTables, keyof LmdbFile> & Writes => {
    const { root } = file;
    return {
      ...createWrites(folder, file),
      answers: root.openDB('answers', { encoding: 'binary' }),
      failures: root.openDB('failures', { encoding: 'binary' }),
      logos: root.openDB('logos', { encoding: 'json' }),
      reported: root.openDB('reported', { encoding: 'binary' }),
      calls: root.openDB('calls', { encoding: 'json' }),
    };
  };
  return await openLmdb(folder, open, options);
}

/** The key of a domain's outcome. */
export function keyOf(endpointId: string, domain: string): string {
  return `${endpointId}:${domain}`;
}

/** Splits a key into endpoint and domain. */
export function splitKey(key: string): { readonly endpointId: string; readonly domain: string } {
  const at = key.indexOf(':');
  return { endpointId: key.slice(0, at), domain: key.slice(at + 1) };
}

/** The range of keys of one endpoint, or of all. */
export function keysOf(endpointId: string | undefined): { start?: string; end?: string } {
  return endpointId === undefined ? {} : { start: `${endpointId}:`, end: `${endpointId};` };
}

/** Whether a table has any key of an endpoint. LMDB would count all of them, whatever the limit. */
export function hasKeys<T>(table: Database<T, string>, endpointId: string): boolean {
  for (const _ of table.getKeys({ ...keysOf(endpointId), limit: 1 })) return true;
  return false;
}

/** All APIs that a store has something of. Keys are sorted, so each API takes one look. */
export function endpointIdsIn(
  tables: Pick<StoreTables, 'answers' | 'failures' | 'logos'>,
): readonly string[] {
  const { answers, failures, logos } = tables;
  const ids = new Set<string>();
  for (const table of [answers, failures, logos]) {
    for (let start: string | undefined; ; ) {
      const [key] = table.getKeys({ ...(start === undefined ? {} : { start }), limit: 1 });
      if (key === undefined) break;
      const { endpointId } = splitKey(key);
      ids.add(endpointId);
      start = keysOf(endpointId).end;
    }
  }
  return [...ids].sort();
}

const API_NAME = 'api:';

/** Notes the name of an API, for people who maintain the store. */
export async function noteApiName(
  { meta, write }: Pick<StoreTables, 'meta' | 'write'>,
  endpointId: string,
  name: string,
): Promise<void> {
  const key = API_NAME + endpointId;
  if (meta.get(key) !== name) await write(() => meta.put(key, name));
}

/** The name of an API; undefined when no run has noted it. */
export function findApiName(meta: LmdbFile['meta'], endpointId: string): string | undefined {
  const name = meta.get(API_NAME + endpointId);
  return typeof name === 'string' ? name : undefined;
}
