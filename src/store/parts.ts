import { rmSync } from 'node:fs';
import type { StoreDatabase } from './database.ts';
import { isOwnFile } from './home.ts';

// An output is written to a part beside it, which a killed run leaves behind. So parts are noted
// before they are made. One run at a time has a store, so parts that another has noted are those of
// a killed one.

const KEY = 'parts';
const NAME = /\.[\da-f-]{36}\.part$/;

/** The parts of the outputs of a run. */
export type Parts = ReturnType<typeof openParts>;

export function openParts({ meta: table, commit }: StoreDatabase) {
  return {
    /** Notes the parts of a run by their absolute paths, and removes those of killed runs. */
    note: async (paths: readonly string[]): Promise<void> => {
      const left: unknown = table.get(KEY);
      for (const path of Array.isArray(left) ? left : []) removeLeft(path);
      await commit([{ table, key: KEY, value: paths }]);
    },
    /** Forgets them, as each has become an output or is removed. */
    forget: async (): Promise<void> => await commit([{ table, key: KEY }]),
  };
}

function removeLeft(path: unknown): void {
  try {
    if (typeof path === 'string' && NAME.test(path) && isOwnFile(path)) rmSync(path);
  } catch {
    // Its folder cannot be written to any more.
  }
}
