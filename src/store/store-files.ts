import { chmodSync, existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The database of a store. */
export const DATABASE = 'data.mdb';
/** Says how the database was when it was closed. */
export const STAMP = 'closed';
const FILES: ReadonlySet<string> = new Set([DATABASE, 'lock.mdb']);

/** Whether a folder holds all files of a store, so that to open it takes no room on the disk. */
export function isStoreThere(folder: string): boolean {
  return [...FILES].every((file) => existsSync(join(folder, file)));
}

/** Whether a path has the name of a file that a store consists of, which nothing else may replace. */
export function isStoreFile(path: string): boolean {
  return FILES.has(basename(path));
}

/** Names of all that processes put into the folder of a store, for good or for a while. */
const OWN =
  /^(?:data\.mdb|lock\.mdb|closed|(?:owner|next)-[0-9a-f]{12}|store\.lock(?:\..+)?|open|under-way|changes|beat|spool-.+)$/;

/**
 * Closes a store of this user to all others: its files and folders, and the folder in which they are,
 * unless something else is there too. Does what it can: some file systems have no permissions.
 */
export function closeToOthers(folder: string): void {
  const names = readdirSync(folder);
  for (const name of names) if (OWN.test(name)) tighten(join(folder, name));
  if (names.every((name) => OWN.test(name))) tighten(folder);
}

function tighten(path: string): void {
  try {
    const found = lstatSync(path);
    const isOurs = found.uid === process.getuid?.() && (found.mode & STICKY) === 0;
    if (found.isSymbolicLink() || !isOurs) return;
    if ((found.mode & OF_OTHERS) !== 0) chmodSync(path, found.mode & ~OF_OTHERS & MODE);
  } catch {
    // It may be a lock that was released just now.
  }
}

/** Of folders that are for all, such as `/tmp`. */
const STICKY = 0o1000;
const OF_OTHERS = 0o077;
const MODE = 0o7777;

const BLOCK_BYTES = 512;

/** How much disk space the store in a folder takes, in bytes; 0 when there is no store. */
export function sizeOnDisk(folder: string): number {
  const stats = statSync(join(folder, DATABASE), { throwIfNoEntry: false });
  // Windows reports no blocks.
  return stats ? stats.blocks * BLOCK_BYTES || stats.size : 0;
}
