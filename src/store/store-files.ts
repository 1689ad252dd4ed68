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
import { basename, dirname, join } from 'node:path';
import { PRIVATE, readSmallFile } from '../common/files.ts';
import { isUsable } from './check-file.ts';
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
