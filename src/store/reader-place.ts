import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as lmdb from 'lmdb';
import { PRIVATE, PRIVATE_FOLDER } from '../common/files.ts';
import {
  describeOwner,
  describeSelf,
  isHere,
  isSameMachine,
  noteGone,
  type Owner,
} from '../common/owner.ts';

// LMDB knows a process by its number alone: it locks the byte of that number in its lock file, and
// marks its place in the table of readers with it. Two containers have process numbers of their own,
// and most processes in them have the number 1 or 7. The second one of a number cannot read, and
// lmdb-js blocks for ten seconds before it fails somewhere. So each process takes its lock at once,
// before it reads, and notes beside it who it is. The kernel frees the lock at the end of a process,
// which also shows for all processes of this machine whether they are gone.

/** The folder in a store with a file for each process number that has it open. */
const FOLDER = 'open';

/** A process that has a store open. */
export interface StoreUser extends Owner {
  /** When it opened the store, in ISO 8601. */
  readonly since: string;
}

/** Why a store cannot be opened: another process of the same number has it open. */
export class SameNumberError extends Error {
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
export interface ReaderPlace {
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
export function takeReaderPlace(
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
