import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as lmdb from 'lmdb';
import { type Database, open, type RootDatabase } from 'lmdb';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { followOwnLinks, freeBytes, makeFolder, PRIVATE, PRIVATE_FOLDER } from '../common/files.ts';
import { holdSuspension } from '../common/lifetime.ts';
import { createLockLink, type LockLinkOptions } from '../common/lock-link.ts';
import {
  describeOwner,
  describeSelf,
  isHere,
  isSameMachine,
  noteGone,
  type Owner,
} from '../common/owner.ts';
import { closeToOthers, DATABASE, isStoreThere } from './store-files.ts';

/**
 * The version of the store's layout. New tables need no new version: older Brandfills ignore them.
 */
export const STORE_VERSION = 1;

/** An open LMDB environment. */
export interface LmdbFile {
  readonly root: RootDatabase;
  /** The store's notes on itself, by name. */
  readonly meta: Database<unknown, string>;
  /** A unique id of this store, which it keeps when its folder is moved. */
  readonly id: string;
  /** Held during each change of the environment, from its first call to the commit. */
  readonly lock: StoreLock;
  /** Makes a change in one transaction under the lock. It is on the disk afterwards. */
  commit<T>(change: () => T): Promise<T>;
  close(): Promise<void>;
  /** Used instead of `close` after a failed commit, which lmdb would wait for without end. */
  abandon(): void;
}

export interface OpenLmdbOptions {
  /** Nothing is going to be written, so what is there can be opened on a full disk too. @default false */
  readonly isToRead?: boolean;
}

/**
 * Opens the LMDB environment in a folder and makes sure that it is ours.
 *
 * @param openTables opens the tables, and creates those that do not exist
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version.
 */
export async function openLmdb<T = unknown>(
  folder: string,
  openTables: (file: LmdbFile) => T,
  { isToRead = false }: OpenLmdbOptions = {},
): Promise<LmdbFile & T> {
  try {
    if (process.geteuid) await followOwnLinks(folder);
    makeFolder(folder, PRIVATE_FOLDER);
    closeToOthers(folder);
    const lock = createStoreLock(folder);
    return await unlessSameNumber(() =>
      lock.hold(async () => {
        refuseDamaged(join(folder, DATABASE));
        if (!(isToRead && isStoreThere(folder)) && isFull(folder))
          throw new UnusableFileError('the disk is full', `make room, or ${ELSEWHERE}`);
        const environment = await openEnvironment(folder);
        try {
          // All tables of a new store are created in one transaction, because each one costs an
          // fsync.
          return environment.root.transactionSync(() => {
            const file = toFile(environment, { folder, lock });
            return { ...file, ...openTables(file) };
          });
        } catch (error) {
          await environment.close();
          throw error;
        }
      }),
    );
  } catch (error) {
    const advice = adviceOn(error);
    throw new BrandfillError(
      'UNUSABLE_STORE',
      `Cannot open the store ${folder}: ${describeSystemError(error)}; ${advice}.`,
      { cause: error },
    );
  }
}

function adviceOn(error: unknown): string {
  if (error instanceof SameNumberError) {
    return `wait until that ends, ${ELSEWHERE}, or start one of the two in the machine's own process namespace (docker run --pid=host, hostPID in Kubernetes)`;
  }
  return error instanceof UnusableFileError ? error.advice : ELSEWHERE;
}

/** How long to wait for a process with the same number, which may be a short command. */
const SAME_NUMBER_MS = 1_000;
const RETRY_MS = 50;

/** Tries again for a moment. The store's lock is free in between, so that the other one can end. */
async function unlessSameNumber<T>(openIt: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + SAME_NUMBER_MS;
  for (;;) {
    try {
      return await openIt();
    } catch (error) {
      if (!(error instanceof SameNumberError) || performance.now() > untilMs) throw error;
      await delay(RETRY_MS);
    }
  }
}

/** An environment that is open in this process. */
interface Environment {
  readonly root: RootDatabase;
  close(): Promise<void>;
  abandon(): void;
}

interface SharedEnvironment {
  readonly root: RootDatabase;
  readonly place: ReaderPlace;
  users: number;
}

/**
 * The environments that are open in this process, by their files. Each is opened once: to open it
 * again would close its lock file once, and with that the kernel frees all locks of this process.
 */
const environments = new Map<string, SharedEnvironment>();

async function openEnvironment(folder: string): Promise<Environment> {
  const known = idOfFile(folder);
  let shared = known === undefined ? undefined : environments.get(known);
  if (!shared || isClosed(shared)) {
    shared = await openShared(folder);
    environments.set(idOfFile(folder) ?? folder, shared);
  }
  shared.users += 1;
  return toEnvironment(shared);
}

async function openShared(folder: string): Promise<SharedEnvironment> {
  const root = open({ path: folder, noSubdir: false, maxDbs: 16, ...FILES });
  catchUnseen(root);
  try {
    return { root, place: takeReaderPlace(root, folder), users: 0 };
  } catch (error) {
    await root.close();
    throw error;
  }
}

/** An option of lmdb that its types leave out. */
const FILES = { permissionsMode: PRIVATE.mode };

function toEnvironment(shared: SharedEnvironment): Environment {
  const { root, place } = shared;
  let isClosed = false;
  return {
    root,
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      shared.users -= 1;
      if (shared.users > 0) {
        await seeCommit(root); // whoever wrote learns of it from the write
        return;
      }
      forget(shared);
      place.leave();
      await root.close();
    },
    abandon: () => forget(shared),
  };
}

/** Whether whoever uses the environment closed it without us. */
function isClosed({ root }: SharedEnvironment): boolean {
  return 'status' in root && root.status !== 'open';
}

/** Whoever opens it next gets it anew. */
function forget(shared: SharedEnvironment): void {
  for (const [id, one] of environments) if (one === shared) environments.delete(id);
}

/** Identifies the database in a folder, by whatever path; undefined when there is none. */
function idOfFile(folder: string): string | undefined {
  const stats = statSync(join(folder, DATABASE), { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
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
function toFile(
  environment: Environment,
  { folder, lock }: { readonly folder: string; readonly lock: StoreLock },
): LmdbFile {
  const { root } = environment;
  // A store of ours has had its version since its tables were created.
  const tables = [...root.getKeys()].filter((name) => name !== 'meta');
  root.resetReadTxn();
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const version = meta.get('version');
  if (version === undefined && tables.length > 0) throw new UnusableFileError(NO_VERSION);
  if (version === undefined) meta.putSync('version', STORE_VERSION);
  else if (version !== STORE_VERSION) throw refusalOf(version);
  return {
    root,
    meta,
    id: idOf(meta),
    lock,
    commit: async (change) => await lock.hold(async () => root.transactionSync(change)),
    close: async () => {
      // A folder that was removed has no place for a lock, and no other process uses it.
      if (existsSync(folder)) await lock.hold(() => environment.close());
      else await environment.close();
    },
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

/**
 * Why a store of another version is not read, and what to do. No older version needs migration yet.
 */
function refusalOf(version: unknown): UnusableFileError {
  const what = `it is of version ${JSON.stringify(version)}, this Brandfill reads version ${STORE_VERSION}`;
  const isOlder = typeof version === 'number' && version < STORE_VERSION;
  const cure = isOlder
    ? 'export it with the Brandfill that wrote it (brandfill store export) and import that here,'
    : 'update Brandfill';
  return new UnusableFileError(what, `${cure} or ${ELSEWHERE}`);
}

/**
 * LMDB maps its file into memory. A file of another kind, or one that ends too early, would crash the
 * process.
 */
function refuseDamaged(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const head = readMeta(file, 0);
    if (head === undefined) return; // another process may be about to write the first page
    const pageBytes = head.readUInt32LE(PAGE_SIZE_AT);
    const sizeBytes = fstatSync(file).size;
    if (head.readUInt32LE(LMDB_MAGIC_AT) !== LMDB_MAGIC || sizeBytes < 2 * pageBytes) {
      throw new Error('its file data.mdb is damaged or was not written by Brandfill');
    }
    const metas = [head, readMeta(file, pageBytes) ?? head];
    const lastPage = Math.max(...metas.map((meta) => Number(meta.readBigUInt64LE(LAST_PAGE_AT))));
    // A sound file lacks pages at its end if they were given back before they were written. That is
    // never half of it.
    if (sizeBytes < ((lastPage + 1) * pageBytes) / 2) {
      throw new Error('its file data.mdb is cut off');
    }
  } finally {
    closeSync(file);
  }
}

/** Reads a meta page as far as it is needed; undefined where the file has nothing. */
function readMeta(file: number, at: number): Buffer | undefined {
  const meta = Buffer.alloc(LAST_PAGE_AT + 8);
  return readSync(file, meta, 0, meta.length, at) === 0 ? undefined : meta;
}

/** The offset of the magic number in the first meta page, in LMDB's data format. */
const LMDB_MAGIC_AT = 24;
const LMDB_MAGIC = 0xbeefc0de;
/** The offset of the page size. There are always two meta pages. */
const PAGE_SIZE_AT = 48;
/** The offset of the number of the last page that was ever used. */
const LAST_PAGE_AT = 144;

/**
 * Lets one process at a time open, change or close the LMDB environment in a folder.
 *
 * LMDB takes care of that itself, apart from one fault in all releases of the `lmdb` package (seen
 * in 3.5.6). A process that opens the environment reads the number of the latest transaction from
 * the file, and a little later writes it to where all processes look. That takes back a commit in
 * between. The next commit overwrites it, and pages are used twice. LMDB itself has fixed it since.
 */
interface StoreLock {
  /**
   * Does work while no other process does. Must not be called from within such work.
   *
   * @throws what the work throws, or an Error when another process holds the lock for a minute
   */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

const FILE = 'store.lock';
/**
 * Work that comes while the lock is held shares the hold, but only for this long: others wait for
 * it.
 */
const SHARED_MS = 20;

/** Work that shares one hold of the lock. */
interface Hold {
  users: number;
  /** After this time, new work waits for the next hold. */
  sharedUntilMs: number;
  readonly acquired: Promise<Acquired>;
  readonly ended: Promise<void>;
  end(): void;
}

/** The acquired lock. Suspending the process with Ctrl-Z is delayed meanwhile. */
interface Acquired {
  readonly mark: string;
  letSuspend(): void;
}

/** Creates the lock of the store in an existing folder. */
export function createStoreLock(folder: string, options: LockLinkOptions = {}): StoreLock {
  const link = createLockLink(join(folder, FILE), options);
  let current: Hold | undefined;

  async function acquireAfter(earlier: Hold | undefined): Promise<Acquired> {
    await earlier?.ended;
    const mark = await link.acquire();
    return { mark, letSuspend: holdSuspension() };
  }

  function begin(): Hold {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const acquired = acquireAfter(current);
    return { users: 0, sharedUntilMs: Infinity, acquired, ended, end };
  }

  function isShared({ users, sharedUntilMs }: Hold): boolean {
    return users > 0 && performance.now() <= sharedUntilMs;
  }

  function leave(hold: Hold, acquired: Acquired | undefined): void {
    hold.users -= 1;
    if (hold.users > 0) return;
    try {
      if (acquired) link.release(acquired.mark);
    } finally {
      acquired?.letSuspend();
      hold.end();
    }
  }

  return {
    hold: async (work) => {
      const hold = current && isShared(current) ? current : begin();
      current = hold;
      hold.users += 1;
      let acquired: Acquired | undefined;
      try {
        acquired = await hold.acquired;
        hold.sharedUntilMs = Math.min(hold.sharedUntilMs, performance.now() + SHARED_MS);
        return await work();
      } finally {
        leave(hold, acquired);
      }
    },
  };
}

// LMDB knows a process by its number alone: it locks the byte of that number in its lock file, and
// marks its place in the table of readers with it. Two containers have process numbers of their own,
// and most processes in them have the number 1 or 7. The second one of a number cannot read, and
// lmdb-js blocks for ten seconds before it fails somewhere. So each process takes its lock at once,
// before it reads, and notes beside it who it is. The kernel frees the lock at the end of a process,
// which also shows for all processes of this machine whether they are gone.

/** The folder in a store with a file for each process number that has it open. */
const FOLDER = 'open';

/** A process that has a store open. */
interface StoreUser extends Owner {
  /** When it opened the store, in ISO 8601. */
  readonly since: string;
}

/** Why a store cannot be opened: another process of the same number has it open. */
class SameNumberError extends Error {
  constructor(user: StoreUser | undefined) {
    const who = user
      ? `${describeOwner(user)} has it open since ${user.since}`
      : 'a process in another container has it open';
    super(
      `${who}, with the same process number ${process.pid} as this one, which LMDB cannot tell apart`,
    );
  }
}

/** The place of this process among the readers of a store. */
interface ReaderPlace {
  /** Must be called before the environment is closed. */
  leave(): void;
}

/**
 * Takes the place of this process among the readers of an environment that was opened just now, and
 * notes which processes of this machine are gone.
 *
 * @param folder the folder of the store
 * @throws SameNumberError when a process in another container has it
 */
function takeReaderPlace(
  root: lmdb.RootDatabase,
  folder: string,
  self: Owner = describeSelf(),
): ReaderPlace {
  const path = join(folder, FOLDER, String(self.pid));
  const reader = beginReading(root, path);
  const isSelf = ({ place, pid, startedAt }: Owner): boolean =>
    place === self.place && pid === self.pid && startedAt === self.startedAt;
  const live = pidsIn(root.readerList());
  for (const name of namesIn(join(folder, FOLDER))) {
    const other = readUser(join(folder, FOLDER, name));
    if (!other || isSelf(other) || !isSameMachine(other, self)) continue;
    if (other.pid !== self.pid && live.has(other.pid) && isHere(other, self) !== false) continue;
    noteGone(other);
    rmSync(join(folder, FOLDER, name), { force: true });
  }
  writeUser(path, { ...self, since: new Date().toISOString() });
  return {
    leave: () => {
      reader?.abort();
      rmSync(path, { force: true });
      removeIfEmpty(dirname(path));
    },
  };
}

/** What lmdb-js begins a read with. Its own way to do that tries for ten seconds. */
interface Native {
  readonly Txn: new (env: unknown, flags: number) => NativeReader;
  readonly resetTxn: (address: number) => void;
}

interface NativeReader {
  readonly address: number;
  abort(): void;
}

const READ_ONLY = 0x20000;
/** `EAGAIN`: another process has locked the byte. */
const IS_LOCKED = /temporarily unavailable/;

/** Reads nothing, but keeps its place in the table, so that others see that this process lives. */
function beginReading(root: lmdb.RootDatabase, path: string): NativeReader | undefined {
  const native = findNative();
  const env: unknown = 'env' in root ? root.env : undefined;
  if (!native || env === undefined) return undefined;
  try {
    const reader = new native.Txn(env, READ_ONLY);
    native.resetTxn(reader.address); // it must not keep old pages
    root.get(''); // lmdb-js goes on with a reader of its own
    return reader;
  } catch (error) {
    if (error instanceof Error && IS_LOCKED.test(error.message)) {
      throw new SameNumberError(readUser(path));
    }
    throw error;
  }
}

/** Undefined in a release of lmdb-js that has no such thing; it is not part of its interface. */
function findNative(): Native | undefined {
  const exported: Readonly<Record<string, unknown>> = { ...lmdb };
  const { Txn, resetTxn } = (exported['nativeAddon'] ?? {}) as Partial<Native>;
  return Txn && resetTxn ? { Txn, resetTxn } : undefined;
}

/** The process numbers in LMDB's list of readers, which begins each line. */
function pidsIn(list: string): ReadonlySet<number> {
  return new Set([...list.matchAll(/^ *(\d+) /gm)].map(([, pid]) => Number(pid)));
}

/** The store's lock is held, so no other process is about to write there. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Others have the store open.
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function readUser(path: string): StoreUser | undefined {
  try {
    const user = JSON.parse(readFileSync(path, 'utf8')) as Partial<StoreUser>;
    const { pid, place, startedAt, token, since } = user;
    const isWhole = typeof pid === 'number' && typeof place === 'string';
    return isWhole
      ? { pid, place, startedAt: startedAt ?? '', token: token ?? '', since: since ?? '' }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Without the note, as on a full disk, others are told less about this process. */
function writeUser(path: string, user: StoreUser): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
    writeFileSync(path, `${JSON.stringify(user)}\n`, { mode: PRIVATE.mode });
  } catch {
    // The lock of LMDB is what counts.
  }
}
