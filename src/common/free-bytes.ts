import { statfsSync } from 'node:fs';

/**
 * How much free space a disk has for this user, in bytes.
 *
 * @param folder a folder on the disk
 * @throws the error of the system when the folder no longer exists
 */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
