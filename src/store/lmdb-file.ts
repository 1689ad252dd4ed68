import { randomUUID } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import {
  followOwnLinks,
  freeBytes,
  makeFolder,
  othersWhoCanChange,
  PRIVATE,
  PRIVATE_FOLDER,
} from '../common/files.ts';
import { findDamage } from './check-file.ts';
import { type OwnOptions, own } from './owner.ts';
import { closeToOthers, DATABASE, isStoreThere, STAMP } from './store-files.ts';

/**
 * The version of the store's layout. New tables need no new version: older Brandfills ignore them.
 * Version 1, without checksums, is read too and becomes this one.
 */
export const STORE_VERSION = 2;

/** An open LMDB environment. */
export interface LmdbFile {
  readonly root: RootDatabase;
  /** The store's notes on itself, by name. */
  readonly meta: Database<unknown, string>;
  /** A unique id of this store, which it keeps when its folder is moved. */
  readonly id: string;
  /** Makes a change in one transaction. It is on the disk afterwards. */
  commit<T>(change: () => T): Promise<T>;
  close(): Promise<void>;
  /** Used instead of `close` after a failed commit, which lmdb would wait for without end. */
  abandon(): void;
}

export interface OpenLmdbOptions extends OwnOptions {
  /** Nothing is going to be written, so what is there can be opened on a full disk too. @default false */
  readonly isToRead?: boolean;
  /** Whether to read it beside somebody who has it open in this process. @default false */
  readonly isBeside?: boolean;
}

/**
 * Opens the LMDB environment in a folder, which this process then owns, and makes sure that it is
 * ours and whole.
 *
 * @param openTables opens the tables, and creates those that do not exist
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version,
 *   `STORE_IN_USE` when another process has it
 */
export async function openLmdb<T = unknown>(
  folder: string,
  openTables: (file: LmdbFile) => T,
  { isToRead = false, isBeside = false, ...options }: OpenLmdbOptions = {},
): Promise<LmdbFile & T> {
  let environment: Environment | undefined;
  try {
    if (process.geteuid) await followOwnLinks(folder);
    makeFolder(folder, PRIVATE_FOLDER);
    closeToOthers(folder);
    const opened = (isBeside && joinOpen(folder)) || (await openNew(folder, isToRead, options));
    environment = opened;
    // All tables of a new store are created in one transaction, because each one costs an fsync.
    return opened.root.transactionSync(() => {
      const file = toFile(opened);
      return { ...file, ...openTables(file) };
    });
  } catch (error) {
    await environment?.close();
    if (error instanceof BrandfillError || options.signal?.aborted) throw error;
    const advice = error instanceof UnusableFileError ? error.advice : ELSEWHERE;
    throw new BrandfillError(
      'UNUSABLE_STORE',
      `Cannot open the store ${folder}: ${describeSystemError(error)}; ${advice}.`,
      { cause: error },
    );
  }
}

/** An environment that is open in this process. */
interface Environment {
  readonly root: RootDatabase;
  close(): Promise<void>;
  abandon(): void;
}

/** What this process has open, by the paths of the folders. */
const openHere = new Map<string, RootDatabase>();

/** Reads along with whoever has it open here; undefined when nobody does. */
function joinOpen(folder: string): Environment | undefined {
  const root = openHere.get(realpathSync(folder));
  return root && { root, close: async () => {}, abandon: () => {} };
}

async function openNew(
  folder: string,
  isToRead: boolean,
  options: OwnOptions,
): Promise<Environment> {
  const ownership = await own(folder, options);
  try {
    const path = join(folder, DATABASE);
    refuseUnsafe(path);
    refuseDamaged(folder);
    if (!(isToRead && isStoreThere(folder)) && isFull(folder))
      throw new UnusableFileError('the disk is full', `make room, or ${ELSEWHERE}`);
    const root = open({ path: folder, noSubdir: false, maxDbs: 16, ...FILES });
    catchUnseen(root);
    const place = realpathSync(folder);
    openHere.set(place, root);
    return {
      root,
      close: async () => {
        openHere.delete(place);
        try {
          await root.close();
          stamp(folder);
        } finally {
          await ownership.release();
        }
      },
      abandon: () => {
        openHere.delete(place);
        void ownership.release();
      },
    };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

/** An option of lmdb that its types leave out. */
const FILES = { permissionsMode: PRIVATE.mode };

/**
 * Refuses what another user may have put in place of the database, and what is no file: a pipe would
 * be waited for.
 *
 * @throws UnusableFileError
 */
function refuseUnsafe(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isFile()) {
    const what = found.isSymbolicLink() ? 'is a link' : 'is no file';
    throw new UnusableFileError(`its data.mdb ${what}`, `remove it, or ${ELSEWHERE}`);
  }
  const others = process.getuid?.() === 0 ? undefined : othersWhoCanChange(path);
  if (others === undefined) return;
  throw new UnusableFileError(others, `make it yours alone (chmod -R go-w), or ${ELSEWHERE}`);
}

/**
 * Refuses a file that LMDB must not open. One that is as this Brandfill left it is only measured.
 *
 * @throws UnusableFileError
 */
function refuseDamaged(folder: string): void {
  const path = join(folder, DATABASE);
  if (!existsSync(path)) return;
  const damage = findDamage(path, readStamp(folder) !== stampOf(folder));
  if (damage !== undefined) throw new UnusableFileError(`its file data.mdb ${damage}`, RESTORE);
}

/** What tells whether something else than Brandfill has changed the file: its size and time. */
function stampOf(folder: string): string {
  const { size, mtimeMs } = statSync(join(folder, DATABASE));
  return `${size} ${mtimeMs}\n`;
}

function readStamp(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, STAMP), 'utf8');
  } catch {
    return undefined;
  }
}

/** Notes that the file is whole as it is now. */
function stamp(folder: string): void {
  try {
    writeFileSync(join(folder, STAMP), stampOf(folder), { mode: PRIVATE.mode });
  } catch {
    // It is walked through the next time.
  }
}

/**
 * Handles promises of its own that lmdb rejects when a commit fails. Unhandled, they would end the
 * process. The writer of a failed write learns of it from the promise of that write.
 */
function catchUnseen(root: RootDatabase): void {
  root.on('beforecommit', () => {
    // The promise of the commit is created right after this event.
    queueMicrotask(() => {
      void seeCommit(root);
    });
  });
}

/**
 * Never rejects. The error of a failed commit refers to another promise, which holds the reason.
 */
async function seeCommit(root: RootDatabase): Promise<void> {
  try {
    await root.committed;
  } catch (error) {
    if (!(error instanceof Error) || !('commitError' in error)) return;
    await Promise.resolve(error.commitError).catch(() => {});
  }
}

/** @throws UnusableFileError when it was not written by this version of Brandfill */
function toFile(environment: Environment): LmdbFile {
  const { root } = environment;
  // A store of ours has had its version since its tables were created.
  const tables = [...root.getKeys()].filter((name) => name !== 'meta');
  root.resetReadTxn();
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const version = meta.get('version');
  if (version === undefined && tables.length > 0) throw new UnusableFileError(NO_VERSION);
  if (version === undefined || version === 1) meta.putSync('version', STORE_VERSION);
  else if (version !== STORE_VERSION) throw refusalOf(version);
  return {
    root,
    meta,
    id: idOf(meta),
    commit: async (change) => root.transactionSync(change),
    close: () => environment.close(),
    abandon: () => environment.abandon(),
  };
}

/** The id that the file got when it was created. */
function idOf(meta: Database<unknown, string>): string {
  const known = meta.get('id');
  if (typeof known === 'string') return known;
  const id = randomUUID();
  meta.putSync('id', id);
  return id;
}

/** Less than this is soon used up, and LMDB cannot report that. */
const LEAST_FREE_BYTES = 4 * 1024 * 1024;

/** Whether the disk of a folder is full. */
export function isFull(folder: string): boolean {
  try {
    return freeBytes(folder) < LEAST_FREE_BYTES;
  } catch {
    return false; // the folder was removed, which is reported elsewhere
  }
}

const ELSEWHERE = 'choose another folder with --store';
const RESTORE = `put a copy of the folder in its place, or ${ELSEWHERE}`;

/**
 * Why a file cannot be used. The advice is apart from the reason, because the files of a collector have
 * no `--store`.
 */
class UnusableFileError extends Error {
  /** What to do where the file is a store. */
  readonly advice: string;

  constructor(reason: string, advice: string = ELSEWHERE) {
    super(reason);
    this.advice = advice;
  }
}

const NO_VERSION = 'its file data.mdb was written by something else than Brandfill';

/** Why a store of another version is not read, and what to do. */
function refusalOf(version: unknown): UnusableFileError {
  const what = `it is of version ${JSON.stringify(version)}, this Brandfill reads version ${STORE_VERSION}`;
  const isOlder = typeof version === 'number' && version < STORE_VERSION;
  const cure = isOlder
    ? 'export it with the Brandfill that wrote it (brandfill store export) and import that here,'
    : 'update Brandfill';
  return new UnusableFileError(what, `${cure} or ${ELSEWHERE}`);
}
