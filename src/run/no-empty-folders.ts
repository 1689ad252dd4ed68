import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Closable } from '../common/closer.ts';

export interface NoEmptyFoldersOptions {
  readonly isThere?: (folder: string) => boolean;
}

/**
 * Takes a folder, and those above it, away again in the end, if they were not there before and nothing
 * came to be in them.
 */
export function leaveNoEmptyFolders(
  path: string,
  { isThere = existsSync }: NoEmptyFoldersOptions = {},
): Closable {
  const missing: string[] = [];
  let folder = resolve(path);
  // On Windows the topmost one may be missing too: there may be no such drive.
  while (!isThere(folder) && dirname(folder) !== folder) {
    missing.push(folder);
    folder = dirname(folder);
  }
  return {
    close: async () => {
      for (const folder of missing) await rmdir(folder).catch(() => {}); // it has something in it
    },
  };
}
