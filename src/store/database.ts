import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import {
  followOwnLinks,
  freeBytes,
  makeFolder,
  othersWhoCanChange,
  PRIVATE,
  PRIVATE_FOLDER,
} from '../common/files.ts';
import { isUsable } from './check-file.ts';
import { type OwnOptions, own } from './owner.ts';

// A folder with one LMDB database. The process owns it until it is closed.

/**
 * The version of the layout. New tables need no new version: older Brandfills ignore them. Version 1, of
 * 0.1.0, is read too and becomes this one.
 */
export const STORE_VERSION = 2;

const DATABASE = 'data.mdb';
/** Says how the database was when it was closed. */
const STAMP = 'closed';
const FILES: readonly string[] = [DATABASE, 'lock.mdb'];

/** An open store: its tables, and how to change it. */
export interface StoreDatabase
  extends ReturnType<typeof openTables>,
    ReturnType<typeof createWrites> {
  readonly folder: string;
}

export interface OpenOptions extends OwnOptions {
  /** Whether much is going to be written: else what is there can be opened on a full disk too. @default true */
  readonly needsRoom?: boolean;
  /** Whether to read it beside somebody who has it open in this process. @default false */
  readonly isBeside?: boolean;
}

/** What this process has open, by the paths of the folders. */
const openHere = new Map<string, StoreDatabase>();

/**
 * Opens the database in a folder, which is created if it does not exist, and makes sure that it is
 * ours and whole.
 *
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version,
 *   `STORE_IN_USE` when another process has it
 */
export async function openDatabase(
  folder: string,
  { isBeside = false, needsRoom = true, ...options }: OpenOptions = {},
): Promise<StoreDatabase> {
  try {
    await followOwnLinks(folder);
    makeFolder(folder, PRIVATE_FOLDER);
    closeToOthers(folder);
    const here = isBeside ? openHere.get(realpathSync(folder)) : undefined;
    if (here) return { ...here, close: async () => {} };
    const ownership = await own(folder, options);
    try {
      const isChecked = await refuseUnsafe(folder, options.signal);
      if (isFull(folder) && (needsRoom || !isStoreIn(folder)))
        throw refusal(folder, 'the disk is full', `make room, or ${ELSEWHERE}`);
      return await openOwned(folder, isChecked, () => ownership.release());
    } catch (error) {
      await ownership.release();
      throw error;
    }
  } catch (error) {
    if (error instanceof BrandfillError || options.signal?.aborted) throw error;
    throw refusal(folder, describeSystemError(error), ELSEWHERE, error);
  }
}

async function openOwned(
  folder: string,
  isChecked: boolean,
  release: () => Promise<void>,
): Promise<StoreDatabase> {
  // An option that its types leave out.
  const mode = { permissionsMode: PRIVATE.mode };
  const wasThere = isStoreIn(folder);
  // A native module, which no help waits for. As CommonJS it is one file instead of a dozen.
  const { open } = createRequire(import.meta.url)('lmdb') as typeof import('lmdb');
  const root = open({ path: folder, noSubdir: false, maxDbs: 16, ...mode });
  catchUnseen(root);
  const place = realpathSync(folder);
  const isOver = (): Promise<void> => {
    openHere.delete(place);
    return release();
  };
  try {
    // All tables of a new store are created in one transaction, because each one costs an fsync.
    const opened = root.transactionSync(() => openTables(root, folder));
    const { id, meta, ...tables } = opened;
    // The second commit is the first one that reads which pages are free, and finds damage there.
    if (isChecked && !isFull(folder))
      for (const nth of [1, 2]) root.transactionSync(() => meta.putSync('checked', nth));
    // A run that was declined leaves nothing behind.
    const isKept = (): boolean =>
      wasThere ||
      [...meta.getKeys()].some((key) => !/^(?:id|version|api:.*)$/.test(key)) ||
      Object.values(tables).some((table) => [...table.getKeys({ limit: 1 })].length > 0);
    const writes = createWrites(folder, root, { isKept, isOver });
    const database = { ...tables, id, meta, folder, ...writes };
    openHere.set(place, database);
    return database;
  } catch (error) {
    await root.close();
    throw isDamage(error) ? damageError(folder, error) : error;
  }
}

/** @throws BrandfillError when the database was not written by this version of Brandfill */
function openTables(root: RootDatabase, folder: string) {
  // A store of ours has had its version since its tables were created.
  const isNew = [...root.getKeys()].every((name) => name === 'meta');
  root.resetReadTxn();
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const version = meta.get('version');
  if ((version === undefined && isNew) || version === 1) meta.putSync('version', STORE_VERSION);
  else if (version === undefined)
    throw refusal(folder, 'its file data.mdb was written by something else than Brandfill');
  else if (version !== STORE_VERSION)
    throw refusal(
      folder,
      `it is of version ${JSON.stringify(version)}, this Brandfill reads version ${STORE_VERSION}`,
      `use the Brandfill that wrote it (its brandfill store export can be imported here), or ${ELSEWHERE}`,
    );
  const known = meta.get('id');
  const id = typeof known === 'string' ? known : randomUUID();
  if (id !== known) meta.putSync('id', id);
  const binary = { encoding: 'binary' } as const;
  const json = { encoding: 'json' } as const;
  return {
    /** A unique id of this store, which it keeps when its folder is moved. */
    id,
    /** `found`, `not_found` and `rejected`. Keys of outcomes and logos are made by {@link keyOf}. */
    answers: root.openDB<Buffer, string>('answers', binary),
    /** `failed` and `pending`, beside the answer that a domain may have. */
    failures: root.openDB<Buffer, string>('failures', binary),
    /** What was last reported of rows: see `reported.ts`. */
    reported: root.openDB<Buffer, string>('reported', binary),
    /** Notes: on logos, on calls that were taken from a budget, and on the store itself. */
    logos: root.openDB<unknown, string>('logos', json),
    calls: root.openDB<unknown, string>('calls', json),
    meta,
  };
}

function createWrites(
  folder: string,
  root: RootDatabase,
  { isKept, isOver }: { readonly isKept: () => boolean; readonly isOver: () => Promise<void> },
) {
  let failure: BrandfillError | undefined;
  /** Those who wait for a write, or for its failure. */
  const waiting = new Set<(failure: BrandfillError) => void>();
  const failed = new Promise<BrandfillError>((resolve) => void waiting.add(resolve));

  function fail(cause: unknown): BrandfillError {
    if (failure) return failure;
    failure = writeError(folder, cause);
    void isOver(); // not closed, which lmdb would wait for without end
    for (const end of waiting) end(failure);
    return failure;
  }

  function write<T>(work: () => Promise<T>): Promise<T> {
    if (failure) return Promise.reject(failure);
    return new Promise<T>((resolve, reject) => {
      waiting.add(reject);
      work()
        .then(resolve, async (error: unknown) => reject(fail(await causeOf(error))))
        .finally(() => waiting.delete(reject));
    });
  }

  return {
    /**
     * Does work that changes the store. After the first that fails, LMDB would never end those behind
     * it: they fail with it, and so do all later ones.
     *
     * @throws BrandfillError `UNUSABLE_STORE`
     */
    write,
    /** Makes a change in one transaction. */
    transact: async <T>(change: () => T): Promise<T> => await write(() => root.transaction(change)),
    /** Resolves with the error of the first write that fails. */
    failed,
    /** Waits until all that was committed is on the disk. */
    flush: async (): Promise<void> => {
      await write(async () => {
        if (!existsSync(folder)) throw new Error('the folder was removed');
        await root.committed;
        await root.flushed;
      });
    },
    close: async (): Promise<void> => {
      if (failure) return;
      try {
        await write(async () => await root.committed);
        const isStore = isKept();
        await write(() => root.close());
        if (isStore) stamp(folder);
        else for (const file of FILES) rmSync(join(folder, file), { force: true });
      } finally {
        await isOver();
      }
    },
  };
}

/**
 * Handles promises of its own that lmdb rejects when a commit fails. Unhandled, they would end the
 * process. The writer of a failed write learns of it from the promise of that write.
 */
function catchUnseen(root: RootDatabase): void {
  // The promise of the commit is created right after this event.
  root.on('beforecommit', () => {
    queueMicrotask(() => void root.committed.then(undefined, causeOf));
  });
}

/** Lmdb's error of a failed commit has the reason in another promise. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (reason) {
    return reason;
  }
}

/** Why nothing could be stored, and what to do. */
function writeError(folder: string, cause: unknown): BrandfillError {
  if (isDamage(cause)) return damageError(folder, cause);
  const isWithoutRoom = isFull(folder);
  const why = isWithoutRoom ? 'the disk is full' : describeSystemError(cause);
  const first = isWithoutRoom ? 'make room and ' : '';
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot write to the store ${folder}: ${why}. What was stored is kept; ${first}run the same command again.`,
    { cause },
  );
}

/** LMDB notices damage only when it comes to the damaged page. Its own errors are below this number. */
function isDamage(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && Number(error.code) < -30_000;
}

function damageError(folder: string, cause: Error): BrandfillError {
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot use the store ${folder}: its file data.mdb is damaged (${describeSystemError(cause)}); ${RESTORE}.`,
    { cause },
  );
}

/** Removes entries of a table in one transaction. */
export async function removeKeys<T>(
  { transact }: Pick<StoreDatabase, 'transact'>,
  table: Database<T, string>,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  await transact(() => {
    for (const key of keys) table.removeSync(key);
  });
}

/** The error to throw instead of one with which a read has ended. */
export function orDamage(folder: string, error: unknown): unknown {
  return isDamage(error) ? damageError(folder, error) : error;
}

/** Whether there is a store in a folder. */
export function isStoreIn(folder: string): boolean {
  return existsSync(join(folder, DATABASE));
}

/** Whether a path has the name of a file that a store consists of, which nothing else may replace. */
export function isStoreFile(path: string): boolean {
  return FILES.includes(basename(path));
}

/** How much disk space the store in a folder takes, in bytes; 0 when there is no store. */
export function sizeOnDisk(folder: string): number {
  const stats = statSync(join(folder, DATABASE), { throwIfNoEntry: false });
  // Windows reports no blocks.
  return stats ? stats.blocks * 512 || stats.size : 0;
}

/** Names of all that processes put into the folder of a store, for good or for a while. */
const OWN = /^(?:data\.mdb|lock\.mdb|closed|(?:owner|next)-.+|spool-.+)$/;
/** Of folders that are for all, such as `/tmp`. */
const STICKY = 0o1000;

/**
 * Closes a store of this user to all others: its files, and the folder in which they are, unless
 * something else is there too. Does what it can: some file systems have no permissions.
 */
function closeToOthers(folder: string): void {
  const names = readdirSync(folder);
  const ours = names.filter((name) => OWN.test(name)).map((name) => join(folder, name));
  for (const path of ours.length === names.length ? [...ours, folder] : ours) {
    try {
      const found = lstatSync(path);
      const isOurs = found.uid === process.getuid?.() && (found.mode & STICKY) === 0;
      if (!found.isSymbolicLink() && isOurs) chmodSync(path, found.mode & 0o7700);
    } catch {
      // It may be the socket of an owner that has just ended.
    }
  }
}

/**
 * Refuses what another user may have put in place of the database, what is no file (a pipe would be
 * waited for), and what LMDB must not open.
 *
 * @returns whether it was checked, as something else than Brandfill may have changed it
 * @throws BrandfillError
 */
async function refuseUnsafe(folder: string, signal?: AbortSignal): Promise<boolean> {
  const path = join(folder, DATABASE);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return false;
  if (!found.isFile()) {
    const what = found.isSymbolicLink() ? 'is a link' : 'is no file';
    throw refusal(folder, `its data.mdb ${what}`, `remove it, or ${ELSEWHERE}`);
  }
  const others = process.getuid?.() === 0 ? undefined : othersWhoCanChange(path);
  if (others !== undefined)
    throw refusal(folder, others, `make it yours alone (chmod -R go-w), or ${ELSEWHERE}`);
  if (found.size === 0 || readStamp(folder) === stampOf(folder)) return false;
  if (!(await isUsable(folder, { signal })))
    throw refusal(folder, 'its file data.mdb is damaged or was not written by Brandfill', RESTORE);
  return true;
}

/** What tells whether something else than Brandfill has changed the file: its size and time. */
function stampOf(folder: string): string {
  const { size, mtimeMs } = statSync(join(folder, DATABASE));
  return `${size} ${mtimeMs}\n`;
}

function readStamp(folder: string): string | undefined {
  const path = join(folder, STAMP);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** Notes that the file is whole as it is now. */
function stamp(folder: string): void {
  try {
    writeFileSync(join(folder, STAMP), stampOf(folder), { mode: PRIVATE.mode });
  } catch {
    // It is walked through the next time.
  }
}

/** Less than this is soon used up, and LMDB cannot report that. */
const LEAST_FREE_BYTES = 4 * 1024 * 1024;

/** Whether the disk of a folder is full. */
function isFull(folder: string): boolean {
  try {
    return freeBytes(folder) < LEAST_FREE_BYTES;
  } catch {
    return false; // the folder was removed, which is reported elsewhere
  }
}

const ELSEWHERE = 'choose another folder with --store';
const RESTORE = `put a copy of the folder in its place, or ${ELSEWHERE}`;

/** Why a store cannot be used, and what to do. */
function refusal(folder: string, why: string, advice = ELSEWHERE, cause?: unknown): BrandfillError {
  const message = `Cannot open the store ${folder}: ${why}; ${advice}.`;
  return new BrandfillError('UNUSABLE_STORE', message, { cause });
}
