import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Closable } from '../common/closer.ts';

/**
 * Takes a folder, and those above it, away again in the end, if they were not there before and nothing
 * came to be in them.
 */
export function leaveNoEmptyFolders(path: string): Closable {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) {
    missing.push(folder);
  }
  return {
    close: async () => {
      for (const folder of missing) await rmdir(folder).catch(() => {}); // it has something in it
    },
  };
}
