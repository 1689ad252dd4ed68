import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those it lies in, where they are not there yet. Node's own `recursive` never ends
 * where a folder that is there says `ENOENT` of a new one, as `/proc` does.
 *
 * @throws the error of the file system
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  if (!existsSync(parent) && parent !== path) makeFolder(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    // Others may have made it meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
