import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder of its own for a test. */
export interface Folder {
  readonly path: string;
  at(name: string): string;
  write(name: string, content: string | Buffer): string;
  /** The text of a file. The times of `brand_fetched_at`, which differ from run to run, are `<time>`. */
  read(name: string): string;
  /** Names of all files but the store, sorted. */
  names(): string[];
  /** Whether the store was made in it. */
  hasStore(): boolean;
}

/** No other time is written in whole seconds. */
const FETCHED_AT = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** A text in which the times of `brand_fetched_at` are `<time>`. */
export function withoutTimes(text: string): string {
  return text.replaceAll(FETCHED_AT, '<time>');
}

/** Makes a temporary folder that goes away when the test ends. */
export function openFolder(parent: string = tmpdir()): Folder {
  const path = mkdtempSync(join(parent, 'brandfill-test-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const at = (name: string): string => join(path, name);
  return {
    path,
    at,
    write: (name, content) => {
      writeFileSync(at(name), content);
      return at(name);
    },
    read: (name) => withoutTimes(readFileSync(at(name), 'utf8')),
    names: () =>
      readdirSync(path)
        .filter((name) => name !== '.brandfill')
        .sort(),
    hasStore: () => existsSync(at('.brandfill')),
  };
}
