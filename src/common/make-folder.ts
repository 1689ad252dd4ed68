import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its parents if they do not exist. Node's own `recursive` never ends when an
 * existing folder reports `ENOENT` for a new one, as `/proc` does.
 *
 * @param mode its permissions, if it is made, before the umask
 * @throws the error of the file system
 */
export function makeFolder(path: string, mode: number = 0o777): void {
  const parent = dirname(path);
  if (!existsSync(parent) && parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have created it meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
