import { existsSync } from 'node:fs';
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
