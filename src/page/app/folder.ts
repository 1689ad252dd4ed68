import { lstatSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openOutputFile } from '../../collector/output/output-file.ts';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder, PRIVATE, PRIVATE_FOLDER } from '../../common/files.ts';
import { createMutex } from '../../common/lifetime.ts';
import { findHome, type Inhabitant, isOwn, isOwnFile, makeHome } from '../../store/home.ts';

/** The folder of the app. Everything in it is for its owner alone. */
export type AppFolder = Awaited<ReturnType<typeof openAppFolder>>;

const PARTS = ['lists', 'store', 'rehearsal', 'spool'];

/** An app. Those of versions before the next one lie in the folder itself. */
const APP: Inhabitant = {
  name: 'brandfill-app',
  isDirectlyIn: (folder) => PARTS.every((name) => isPrivateFolder(join(folder, name))),
};

function isPrivateFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && isOwn(found) && (found.mode & 0o777) === PRIVATE_FOLDER;
}

/**
 * Opens the folder of the app within one that a person names.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when it cannot be made, or others can change what is
 *   in it
 */
export async function openAppFolder(named: string) {
  let path: string;
  try {
    path = await findHome(named, APP);
    makeHome(path, APP);
    for (const name of PARTS) makeFolder(join(path, name), PRIVATE_FOLDER);
  } catch (error) {
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot keep anything in ${named}: ${describeSystemError(error)}; choose another folder with option 'dir'.`,
      { cause: error },
    );
  }
  const at = (...names: readonly string[]): string => join(path, ...names);
  /** Of two values for one place, the later one stays. */
  const inTurn = createMutex();
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
    /** Makes a folder in a folder that is there. */
    make: async (...names: readonly string[]): Promise<void> => {
      await mkdir(at(...names), PRIVATE_FOLDER);
    },
    /** What this user has written under a name; undefined for nothing, or no JSON. */
    readJson: (...names: readonly string[]): unknown => {
      try {
        const place = at(...names);
        return isOwnFile(place) ? (JSON.parse(readFileSync(place, 'utf8')) as unknown) : undefined;
      } catch {
        return undefined;
      }
    },
    /** Writes a value as JSON. It appears under its name when it is whole. */
    writeJson: async (value: unknown, ...names: readonly string[]): Promise<void> => {
      const text = `${JSON.stringify(value, undefined, 1)}\n`;
      await inTurn(() => write(text, at(...names)));
    },
    remove: async (...names: readonly string[]): Promise<void> => {
      await rm(at(...names), { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
