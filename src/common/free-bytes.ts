import { statfsSync } from 'node:fs';

/**
 * How much room a disk has for us, in bytes.
 *
 * @param folder on it
 * @throws the error of the system when there is no such folder any more
 */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
