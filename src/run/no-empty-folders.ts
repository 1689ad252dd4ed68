import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Closable } from '../common/closer.ts';

export interface NoEmptyFoldersOptions {
  readonly isThere?: (folder: string) => boolean;
}

/** Removes a folder and its parents in the end, if they did not exist before and are empty. */
export function leaveNoEmptyFolders(
  path: string,
  { isThere = existsSync }: NoEmptyFoldersOptions = {},
): Closable {
  const missing: string[] = [];
  let folder = resolve(path);
  // On Windows the topmost folder may be missing too, as there may be no such drive.
  while (!isThere(folder) && dirname(folder) !== folder) {
    missing.push(folder);
    folder = dirname(folder);
  }
  return {
    close: async () => {
      for (const folder of missing) await rmdir(folder).catch(() => {}); // it is not empty
    },
  };
}
