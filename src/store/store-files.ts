import { basename } from 'node:path';

/** The database of a store. */
export const DATABASE = 'data.mdb';
const FILES: ReadonlySet<string> = new Set([DATABASE, 'lock.mdb']);

/** Whether a path has the name of a file that a store consists of, which nothing else may replace. */
export function isStoreFile(path: string): boolean {
  return FILES.has(basename(path));
}
