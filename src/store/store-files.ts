import { type ExecFileException, execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { PRIVATE, readSmallFile } from '../common/files.ts';
import { withoutCredentials } from '../common/secrets.ts';
import { ELSEWHERE, RESTORE, refusal } from './failures.ts';
import { closeToOthers, homeIn, type Inhabitant, isOwn, isOwnFile } from './home.ts';

// The files of a store: the database, its lock, and a stamp that says how the database was when it
// was closed.

const DATABASE = 'data.mdb';
const FILES: readonly string[] = [DATABASE, 'lock.mdb'];
const STAMP = 'closed';

/** A store. Those of 0.1.0, and of versions before the next one, lie in the folder itself. */
export const STORE: Inhabitant = {
  name: 'brandfill-store',
  isDirectlyIn: (folder) => isOwnFile(join(folder, DATABASE)) && isOfLmdb(join(folder, DATABASE)),
};

/** What LMDB writes to this place of its file. */
const MAGIC = { at: 24, bytes: Buffer.from('dec0efbe', 'hex') };

function isOfLmdb(path: string): boolean {
  const bytes = Buffer.alloc(MAGIC.bytes.length);
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, bytes.length, MAGIC.at);
  } finally {
    closeSync(file);
  }
  return bytes.equals(MAGIC.bytes);
}

/** Whether there is a store in a folder. */
export function isStoreIn(folder: string): boolean {
  return existsSync(join(homeIn(folder, STORE), DATABASE));
}

/** Whether a path is that of a file that a store consists of, which nothing else may replace. */
export function isStoreFile(path: string): boolean {
  return FILES.includes(basename(path)) || basename(dirname(path)) === STORE.name;
}

/** How much disk space the store in a folder takes, in bytes; 0 when there is no store. */
export function sizeOnDisk(folder: string): number {
  const path = join(homeIn(folder, STORE), DATABASE);
  const stats = statSync(path, { throwIfNoEntry: false });
  // Windows reports no blocks.
  return stats ? stats.blocks * 512 || stats.size : 0;
}

/** Removes the files of a store that has nothing in it. */
export function removeStore(home: string): void {
  for (const file of FILES) rmSync(join(home, file), { force: true });
}

/**
 * Refuses what is no file of this user (a link, or a pipe that would be waited for), and what LMDB
 * must not open. Closes the files to others.
 *
 * @param folder as the person named it
 * @returns whether the database was tried, as something else than Brandfill may have changed it
 * @throws BrandfillError
 */
export async function refuseUnsafe(
  home: string,
  folder: string,
  signal?: AbortSignal,
): Promise<boolean> {
  for (const file of FILES) {
    const found = lstatSync(join(home, file), { throwIfNoEntry: false });
    if (!found) continue;
    const what = found.isSymbolicLink() ? 'is a link' : 'is no file';
    if (!found.isFile()) throw refusal(folder, `its ${file} ${what}`, `remove it, or ${ELSEWHERE}`);
    if (!isOwn(found)) throw refusal(folder, `its ${file} belongs to another user`);
    closeToOthers(join(home, file), found.mode);
  }
  const size = statSync(join(home, DATABASE), { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || readStamp(home) === stampOf(home)) return false;
  if (!(await isUsable(home, { signal })))
    throw refusal(folder, 'its file data.mdb is damaged or was not written by Brandfill', RESTORE);
  return true;
}

/**
 * What tells whether something else than Brandfill has changed the database. Its size and time may
 * be put back, but not the time of its last change of any kind.
 */
function stampOf(home: string): string {
  const { size, mtimeNs, ctimeNs, ino } = statSync(join(home, DATABASE), { bigint: true });
  return `${size} ${mtimeNs} ${ctimeNs} ${ino}\n`;
}

/** Undefined when there is none, or something else of that name. */
function readStamp(home: string): string | undefined {
  const path = join(home, STAMP);
  const text = isOwnFile(path) ? readSmallFile(path, 200) : undefined;
  return text !== undefined && /^\d+(?: [\d.]+)+\n$/.test(text) ? text : undefined;
}

/** Notes that the database is whole as it is now. */
export function stamp(home: string): void {
  try {
    const path = join(home, STAMP);
    if (readStamp(home) !== undefined) rmSync(path);
    writeFileSync(path, stampOf(home), { mode: PRIVATE.mode, flag: 'wx' });
  } catch {
    // Something else has the name, or the folder is read-only: the database is tried the next time.
  }
}

// LMDB maps its file into memory and trusts it: a page number that leads out of the file, or an
// offset out of its page, ends the process by a signal. So a file that something else than LMDB may
// have changed is read and written by LMDB in a process of its own first, which may end so. What
// the entries hold is checked when they are read, each by its checksum.

/**
 * Each entry is read, and written in a transaction that is given up. Lists of free pages are not
 * read by that, so the file has to be as long as it says. Keys that are out of order are not found,
 * or hide others.
 */
const REHEARSE = `
const { statSync } = require('node:fs');
const { ABORT, open } = require(process.argv[1]);
try {
  const root = open({ path: process.argv[2], noSubdir: false, maxDbs: 16 });
  const { pageSize, lastPageNumber } = root.getStats();
  if (statSync(process.argv[2] + '/data.mdb').size < (lastPageNumber + 1) * pageSize) throw new Error('cut off');
  for (const name of [...root.getKeys()]) {
    const table = root.openDB(name, { keyEncoding: 'binary', encoding: 'binary' });
    let [last, count, entries] = [Buffer.alloc(0), 0, []];
    do {
      entries = [];
      let bytes = 0;
      for (const { key, value } of table.getRange({ start: last, exclusiveStart: count > 0, limit: 500 })) {
        if (count > 0 && Buffer.compare(last, key) >= 0) throw new Error('out of order');
        last = Buffer.from(key);
        count += 1;
        bytes += value.length;
        entries.push([last, value]);
        if (bytes > 4e6) break;
      }
      root.transactionSync(() => {
        for (const [key, value] of entries) table.putSync(key, value);
        return ABORT;
      });
    } while (entries.length > 0);
    if (count !== table.getStats().entryCount) throw new Error('incomplete');
  }
} catch {
  process.exit(3);
}
process.exit(0);
`;

interface TrialOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * How long it may take, as LMDB may walk through damaged pages without end.
   *
   * @default half a minute, and a second for 5 MB
   */
  readonly longestMs?: number;
  /** The path of the module that reads the file. @default that of LMDB */
  readonly lmdb?: string;
}

/** How a process ends that reads what is not there, or that gives up. */
const CRASH = /^SIG(?:BUS|SEGV|ABRT|ILL|TRAP)$/;

/**
 * Whether LMDB can read and write all of the database in a folder, which takes some seconds for a
 * gigabyte.
 *
 * @throws Error when that cannot be found out; the signal's reason when it fires before
 */
export async function isUsable(
  folder: string,
  { signal, longestMs, lmdb = createRequire(import.meta.url).resolve('lmdb') }: TrialOptions = {},
): Promise<boolean> {
  const args = ['--input-type=commonjs', '-e', REHEARSE, lmdb, folder];
  const timeout = longestMs ?? 30_000 + Math.ceil(statSync(join(folder, 'data.mdb')).size / 5_000);
  const env = withoutCredentials(process.env);
  const options = { env, timeout, killSignal: 'SIGABRT', ...(signal && { signal }) } as const;
  const ended = await new Promise<Pick<ExecFileException, 'code' | 'signal'> | null>((resolve) => {
    execFile(process.execPath, args, options, resolve);
  });
  signal?.throwIfAborted();
  if (ended === null) return true;
  const { code, signal: by } = ended;
  if (code === 3 || CRASH.test(by ?? '')) return false;
  throw new Error(`trying its file data.mdb was ended (${by ?? code})`);
}
