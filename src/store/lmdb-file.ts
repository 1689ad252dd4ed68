import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { freeBytes } from '../common/free-bytes.ts';
import { makeFolder } from '../common/make-folder.ts';
import { DATABASE, isStoreThere } from './store-files.ts';
import { createStoreLock, type StoreLock } from './store-lock.ts';

/** Of the way in which a store is written. New tables need no new one: older Brandfills leave them alone. */
export const STORE_VERSION = 1;

/** An open LMDB environment. */
export interface LmdbFile {
  readonly root: RootDatabase;
  /** What the store notes of itself, by name. */
  readonly meta: Database<unknown, string>;
  /** Tells this store from every other one, wherever its folder is moved to. */
  readonly id: string;
  /** Whatever changes the environment is done while this is held, from its first call to the commit. */
  readonly lock: StoreLock;
  /** Makes a change in one transaction, while the lock is held; it is on the disk afterwards. */
  commit<T>(change: () => T): Promise<T>;
  close(): Promise<void>;
}

export interface OpenLmdbOptions {
  /** Nothing is going to be written, so what is there can be opened on a full disk too. @default false */
  readonly isToRead?: boolean;
}

/**
 * Opens the LMDB environment in a folder and makes sure that it is ours.
 *
 * @param openTables opens the tables, which makes those that are not there yet
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version.
 */
export async function openLmdb<T = unknown>(
  folder: string,
  openTables: (file: LmdbFile) => T,
  { isToRead = false }: OpenLmdbOptions = {},
): Promise<LmdbFile & T> {
  try {
    makeFolder(folder);
    const lock = createStoreLock(folder);
    return await lock.hold(async () => {
      refuseDamaged(join(folder, DATABASE));
      if (!(isToRead && isStoreThere(folder)) && isFull(folder)) throw new FullDiskError();
      const root = open({ path: folder, noSubdir: false, maxDbs: 16 });
      catchUnseen(root);
      try {
        // All tables of a new store are made in one transaction: each one costs an fsync.
        return root.transactionSync(() => {
          const file = toFile(root, { folder, lock });
          return { ...file, ...openTables(file) };
        });
      } catch (error) {
        await root.close();
        throw error;
      }
    });
  } catch (error) {
    const why =
      error instanceof OtherVersionError || error instanceof FullDiskError
        ? error.message
        : `${describeSystemError(error)}; choose another folder with --store`;
    throw new BrandfillError('UNUSABLE_STORE', `Cannot open the store ${folder}: ${why}.`, {
      cause: error,
    });
  }
}

/**
 * Of commits that fail lmdb rejects promises of its own, too, which would end the process that uses the
 * library. What a caller has written is told by the promise of that write.
 */
function catchUnseen(root: RootDatabase): void {
  root.on('beforecommit', () => {
    // The promise of the commit is made as soon as this is done.
    queueMicrotask(() => {
      void seeCommit(root);
    });
  });
}

/** Never rejects. The error of a commit that failed names another promise, which has the reason. */
async function seeCommit(root: RootDatabase): Promise<void> {
  try {
    await root.committed;
  } catch (error) {
    if (!(error instanceof Error) || !('commitError' in error)) return;
    await Promise.resolve(error.commitError).catch(() => {});
  }
}

/** @throws OtherVersionError when it is not a store of ours */
function toFile(
  root: RootDatabase,
  { folder, lock }: { readonly folder: string; readonly lock: StoreLock },
): LmdbFile {
  // A store of ours has had its version for as long as its tables.
  const tables = [...root.getKeys()].filter((name) => name !== 'meta');
  root.resetReadTxn();
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const version = meta.get('version');
  if (version === undefined && tables.length > 0) throw new OtherVersionError(NO_VERSION);
  if (version === undefined) meta.putSync('version', STORE_VERSION);
  else if (version !== STORE_VERSION) throw new OtherVersionError(refusalOf(version));
  return {
    root,
    meta,
    id: idOf(meta),
    lock,
    commit: async (change) => await lock.hold(async () => root.transactionSync(change)),
    close: async () => {
      // A folder that somebody has removed has no place for a lock, and nobody else uses it.
      if (existsSync(folder)) await lock.hold(() => root.close());
      else await root.close();
    },
  };
}

/** The id that this file was given when it was made. */
function idOf(meta: Database<unknown, string>): string {
  const known = meta.get('id');
  if (typeof known === 'string') return known;
  const id = randomUUID();
  meta.putSync('id', id);
  return id;
}

/** Less than this is soon used up, and LMDB cannot even say so. */
const LEAST_FREE_BYTES = 4 * 1024 * 1024;

/** Whether the disk that a folder is on has no room left. */
export function isFull(folder: string): boolean {
  try {
    return freeBytes(folder) < LEAST_FREE_BYTES;
  } catch {
    return false; // somebody has removed it, which is another trouble
  }
}

class FullDiskError extends Error {
  constructor() {
    super('the disk is full; make room, or choose another folder with --store');
  }
}

class OtherVersionError extends Error {}

const NO_VERSION =
  'its file data.mdb was written by something else than Brandfill; choose another folder with --store';

/** Why a store of another version is not read, and what to do. There is none yet to be migrated. */
function refusalOf(version: unknown): string {
  const what = `it is of version ${JSON.stringify(version)}, this Brandfill reads version ${STORE_VERSION}`;
  return typeof version === 'number' && version < STORE_VERSION
    ? `${what}; export it with the Brandfill that wrote it (brandfill store export) and import that here, or choose another folder with --store`
    : `${what}; update Brandfill or choose another folder with --store`;
}

/** LMDB maps its file into memory: what is no LMDB file would end the process without a word. */
function refuseDamaged(path: string): void {
  if (!existsSync(path)) return;
  const head = Buffer.alloc(PAGE_SIZE_AT + 4);
  const file = openSync(path, 'r');
  let sizeBytes: number;
  try {
    // Another process may be about to write the first page.
    if (readSync(file, head, 0, head.length, 0) === 0) return;
    sizeBytes = fstatSync(file).size;
  } finally {
    closeSync(file);
  }
  const isLmdb = head.readUInt32LE(LMDB_MAGIC_AT) === LMDB_MAGIC;
  if (!isLmdb || sizeBytes < 2 * head.readUInt32LE(PAGE_SIZE_AT)) {
    throw new Error('its file data.mdb is damaged or was not written by Brandfill');
  }
}

/** Where the first meta page has its mark, in LMDB's data format. */
const LMDB_MAGIC_AT = 24;
const LMDB_MAGIC = 0xbeefc0de;
/** And where it says how long a page is; there are always two such pages. */
const PAGE_SIZE_AT = 48;
