import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openOutputFile } from '../../collector/output/output-file.ts';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder, PRIVATE, PRIVATE_FOLDER } from '../../common/files.ts';

/** The folder of the app. Everything in it is for its owner alone. */
export interface AppFolder {
  readonly path: string;
  at(...names: readonly string[]): string;
  /** Makes a folder in a folder that is there. */
  make(...names: readonly string[]): Promise<void>;
  /** What was written under a name; undefined when there is nothing, or it is no JSON. */
  readJson(...names: readonly string[]): unknown;
  /** Writes a value as JSON. It appears under its name when it is whole. */
  writeJson(value: unknown, ...names: readonly string[]): Promise<void>;
  remove(...names: readonly string[]): Promise<void>;
}

/** @throws BrandfillError `UNWRITABLE_OUTPUT` when it cannot be made */
export function openAppFolder(path: string): AppFolder {
  const at = (...names: readonly string[]): string => join(path, ...names);
  // Another folder that was there is not ours to close to others.
  const isOurs = !existsSync(path) || existsSync(at('lists'));
  const inside = ['lists', 'store', 'rehearsal', 'spool'].map((name) => at(name));
  try {
    for (const folder of isOurs ? [path, ...inside] : inside) {
      makeFolder(folder, PRIVATE_FOLDER);
      chmodSync(folder, PRIVATE_FOLDER);
    }
  } catch (error) {
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot keep anything in ${path}: ${describeSystemError(error)}; choose another folder with --dir.`,
      { cause: error },
    );
  }
  /** One after the other: of two values for one place, the later one stays. */
  let writing: Promise<void> = Promise.resolve();
  const write = async (text: string, place: string): Promise<void> => {
    const file = await openOutputFile(place, [PRIVATE]);
    try {
      await file.write(text);
      await file.finish();
      await file.commit();
    } finally {
      await file.discard();
    }
  };
  return {
    path,
    at,
    make: async (...names) => {
      await mkdir(at(...names), PRIVATE_FOLDER);
    },
    readJson: (...names) => {
      try {
        return JSON.parse(readFileSync(at(...names), 'utf8')) as unknown;
      } catch {
        return undefined;
      }
    },
    writeJson: async (value, ...names) => {
      const text = `${JSON.stringify(value, undefined, 1)}\n`;
      const written = writing.then(async () => await write(text, at(...names)));
      writing = written.catch(() => {});
      await written;
    },
    remove: async (...names) => {
      await rm(at(...names), { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
