import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The database of a store. */
export const DATABASE = 'data.mdb';
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
const OWN = /^(?:data\.mdb|lock\.mdb|store\.lock(?:\..+)?|open|under-way|changes|beat|spool-.+)$/;

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
    if (found.isSymbolicLink() || found.uid !== process.getuid?.()) return;
    if ((found.mode & OF_OTHERS) !== 0) chmodSync(path, found.mode & ~OF_OTHERS & MODE);
  } catch {
    // It may be a lock that was released just now.
  }
}

const OF_OTHERS = 0o077;
const MODE = 0o7777;
