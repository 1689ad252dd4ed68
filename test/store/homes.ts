import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MARK, makeHome } from '../../src/store/home.ts';
import { STORE } from '../../src/store/store-files.ts';

/** Where the files of the store in a folder are. */
export function homeOf(folder: string): string {
  return join(folder, STORE.name);
}

/** Makes the home of a store that has no files yet, and returns it. */
export function makeHomeIn(folder: string): string {
  const home = homeOf(folder);
  makeHome(home, STORE);
  return home;
}

/** Lays the files of a store into the folder itself, as Brandfill did in 0.1.0. */
export function makeOlder(folder: string): void {
  const home = homeOf(folder);
  for (const name of readdirSync(home)) {
    if (name === MARK) rmSync(join(home, name));
    else renameSync(join(home, name), join(folder, name));
  }
  rmSync(home, { recursive: true });
}
