import { createHash } from 'node:crypto';
import { accessSync, constants, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder } from '../../common/files.ts';
import { HOUR_MS } from '../../common/format.ts';
import {
  describeOwner,
  describeSelf,
  HEARTBEAT_MS,
  isAlive,
  lastBeat,
  type Owner,
  SILENCE_MS,
  touchHeartbeat,
} from '../../common/owner.ts';
import { type LmdbFile, openLmdb } from '../../store/lmdb-file.ts';

/** The record of what counts: how much of which file, and which replies are in it. */
export interface Journal {
  findPart(kind: PartKind): PartState | undefined;
  /** Whether a reply was written within the last day. */
  has(id: string, nowMs: number): boolean;
  /**
   * Notes what was written, in one transaction that is on the disk afterwards.
   *
   * @throws when the folder has another owner by now. Nothing is then noted.
   */
  commit(written: Written): Promise<void>;
  /** Removes replies older than a day, some at a time. */
  prune(nowMs: number): Promise<void>;
}

export interface Written {
  readonly parts: Readonly<Partial<Record<PartKind, PartState>>>;
  readonly ids: readonly string[];
  readonly nowMs: number;
}

/** A worker sends a reply again within minutes, or after an outage. */
const REMEMBERED_HOURS = 24;
const PRUNED_AT_ONCE = 5_000;
const LONGEST_KEY = 200;

/** The tables of a journal. */
export interface JournalTables {
  readonly parts: Database<PartState, PartKind>;
  readonly replies: Database<1, [hour: number, id: string]>;
}

/** Opens the tables, and creates those that do not exist. */
export function openJournalTables(root: RootDatabase): JournalTables {
  return {
    parts: root.openDB('parts', { encoding: 'json' }),
    replies: root.openDB('replies', { encoding: 'json' }),
  };
}

/**
 * @param checkOwner throws when this process may no longer write. Called within the transaction.
 */
export function createJournal(
  { commit, parts, replies }: Pick<LmdbFile, 'commit'> & JournalTables,
  checkOwner: () => void,
): Journal {
  return {
    findPart: (kind) => parts.get(kind),
    has: (id, nowMs) => {
      const key = keyOf(id);
      const now = hourNumber(nowMs);
      // One hour ahead too, in case a clock was set back.
      for (let hour = now + 1; hour >= now - REMEMBERED_HOURS; hour -= 1) {
        if (replies.get([hour, key]) !== undefined) return true;
      }
      return false;
    },
    commit: async ({ parts: changed, ids, nowMs }) => {
      await commit(() => {
        checkOwner();
        for (const [kind, state] of Object.entries(changed)) {
          parts.putSync(kind as PartKind, state);
        }
        for (const id of ids) replies.putSync([hourNumber(nowMs), keyOf(id)], 1);
      });
    },
    prune: async (nowMs) => {
      const end: [number, string] = [hourNumber(nowMs) - REMEMBERED_HOURS, ''];
      const old = [...replies.getKeys({ end, limit: PRUNED_AT_ONCE })];
      if (old.length === 0) return;
      await commit(() => {
        for (const key of old) replies.removeSync(key);
      });
    },
  };
}

function hourNumber(nowMs: number): number {
  return Math.floor(nowMs / HOUR_MS);
}

/** LMDB limits the length of keys, and ids may be of any length. */
function keyOf(id: string): string {
  if (id.length <= LONGEST_KEY && !id.includes('\0')) return id;
  return createHash('sha256').update(id).digest('base64url');
}

/** The two kinds of files that a collector writes. */
export type PartKind = 'enriched' | 'failures';

export const PART_KINDS: readonly PartKind[] = ['enriched', 'failures'];

/** The file of a kind that is being written, or the last one that was. */
export interface PartState {
  /** In UTC, such as `2026-11-21T08`. */
  readonly hour: string;
  /** Files of one hour are counted from 1. */
  readonly number: number;
  /** How many bytes of the file count. A write after these was not completed. */
  readonly bytes: number;
  readonly lines: number;
  /** False once the file is finished. */
  readonly isOpen: boolean;
}

/** The UTC hour of a time, such as `2026-11-21T08`. */
function hourOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 13);
}

/**
 * The name of a finished file: `enriched-2026-11-21T08.jsonl`, `enriched-2026-11-21T08-2.jsonl`.
 */
export function fileName(
  kind: PartKind,
  { hour, number }: Pick<PartState, 'hour' | 'number'>,
): string {
  return `${kind}-${hour}${number === 1 ? '' : `-${number}`}.jsonl`;
}

/** Whether a file has to be finished before more bytes are written. */
export function isDue(
  state: PartState | undefined,
  { nowMs, moreBytes, maxBytes }: { nowMs: number; moreBytes: number; maxBytes: number },
): boolean {
  if (!state?.isOpen) return false;
  if (state.hour !== hourOf(nowMs)) return true;
  // A reply that is longer than a file may be becomes a file of its own.
  return state.bytes > 0 && moreBytes > 0 && state.bytes + moreBytes > maxBytes;
}

/**
 * The file after the last one. Numbers are not reused, even if files were removed. The number of a
 * file without a line is reused, because that file may not even have been created.
 */
export function nextFile(
  last: PartState | undefined,
  nowMs: number,
): Pick<PartState, 'hour' | 'number'> {
  const hour = hourOf(nowMs);
  if (last?.hour !== hour) return { hour, number: 1 };
  return { hour, number: last.bytes === 0 ? last.number : last.number + 1 };
}

/** A folder for the files of a backfill, held by this process alone. */
interface BackfillFolder {
  readonly path: string;
  readonly journal: Journal;
  /** Whether no other process has taken it, for example while this one was frozen. */
  isOurs(): boolean;
  close(): Promise<void>;
}

/** The subfolder for what the collector has to remember. */
const JOURNAL = '.collect';

/**
 * Opens a folder, which is created if it does not exist, and locks it.
 *
 * @param flag the name of the folder's option in messages
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openBackfillFolder(path: string, flag: string): Promise<BackfillFolder> {
  const journalFolder = join(path, JOURNAL);
  const file = await openFile(path, flag);
  let lock: Awaited<ReturnType<typeof lockFolder>>;
  try {
    lock = await lockFolder({ ...file, folder: journalFolder });
  } catch (error) {
    await file.close();
    throw unwritable(path, describeSystemError(error), { flag, cause: error });
  }
  if (!('isOurs' in lock)) {
    await file.close();
    throw unwritable(path, `another collector writes to it (${describeOwner(lock)})`, {
      flag,
    });
  }
  const ours: FolderLock = lock;
  const journal = createJournal(file, () => {
    if (!ours.isOurs()) throw new Error('another collector has taken the folder');
  });
  return {
    path,
    journal,
    isOurs: () => ours.isOurs(),
    close: async () => {
      try {
        await ours.release();
      } catch {
        // The disk is full. The next collector sees that this process is gone.
      }
      await file.close();
    },
  };
}

interface CollectorFile extends LmdbFile, JournalTables {
  readonly owners: Database<Owner, string>;
}

async function openFile(path: string, flag: string): Promise<CollectorFile> {
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
    return await openLmdb(join(path, JOURNAL), ({ root }) => ({
      ...openJournalTables(root),
      owners: root.openDB('owner', { encoding: 'json' }),
    }));
  } catch (error) {
    const cause = error instanceof BrandfillError ? error.cause : error;
    throw unwritable(path, describeSystemError(cause), { flag, cause });
  }
}

function unwritable(
  path: string,
  reason: string,
  { flag, cause }: { readonly flag: string; readonly cause?: unknown },
): BrandfillError {
  return new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write to the folder ${path}: ${reason}; put that right, or choose another folder with ${flag}.`,
    { cause },
  );
}

/** That this process owns a folder. */
interface FolderLock {
  /** Whether no other process has taken the folder, for example while this one was frozen. */
  isOurs(): boolean;
  release(): Promise<void>;
}

export interface LockFolderOptions extends Pick<LmdbFile, 'commit'> {
  /** The table with the owner. */
  readonly owners: Database<Owner, string>;
  /** The folder of the file for the owner's signs of life. */
  readonly folder: string;
  /** An owner that cannot be looked up here counts as gone after this silence. @default 10 s */
  readonly silenceMs?: number;
  /** How often this process gives a sign of life. @default 2 s */
  readonly heartbeatMs?: number;
  /** This process. */
  readonly self?: Owner;
}

/**
 * Takes a folder for this process alone, or returns its owner. A killed process does not keep it.
 * On the same machine its process id and start time are looked up. A process in another container
 * or on another machine is given time to show a sign of life, which comes every two seconds.
 */
export async function lockFolder(options: LockFolderOptions): Promise<FolderLock | Owner> {
  const { commit, owners, folder, self = describeSelf() } = options;
  const { silenceMs = SILENCE_MS, heartbeatMs = HEARTBEAT_MS } = options;
  const heartbeatFile = join(folder, 'beat');
  const signs = { lastBeat: () => lastBeat(heartbeatFile), silenceMs };

  // Created before the lock, which would stay if this failed. Signs of another owner are left
  // alone.
  writeFileSync(heartbeatFile, '', { flag: 'a' });
  for (;;) {
    const owner = owners.get(KEY);
    if (owner && (await isAlive(owner, self, signs))) return owner;
    const isTaken = await commit(() => {
      // Another process may have been faster.
      if (owners.get(KEY)?.token !== owner?.token) return false;
      owners.putSync(KEY, self);
      return true;
    });
    if (isTaken) break;
  }
  const timer = setInterval(() => touchHeartbeat(heartbeatFile), heartbeatMs);
  timer.unref();
  const isOurs = (): boolean => owners.get(KEY)?.token === self.token;
  return {
    isOurs,
    release: async () => {
      clearInterval(timer);
      await commit(() => {
        if (isOurs()) owners.removeSync(KEY);
      });
    },
  };
}

const KEY = 'owner';
