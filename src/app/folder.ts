import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import { makeFolder, PRIVATE, PRIVATE_FOLDER, temporaryPath } from '../common/files.ts';
import type { RefusalCode } from '../web/app/contract.ts';

/** Something that cannot be done, in whole sentences for the person at the page. */
export class AppRefusal extends Error {
  override readonly name = 'AppRefusal';
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The folder of the app. Everything in it is for its owner alone. */
export interface AppFolder {
  readonly path: string;
  at(...names: readonly string[]): string;
  /** Makes a folder in it, with its parents. */
  make(...names: readonly string[]): string;
  /** What was written under a name; undefined when there is nothing, or it is no JSON. */
  readJson(...names: readonly string[]): unknown;
  /**
   * Writes a value as JSON. It appears under its name when it is whole.
   *
   * @throws AppRefusal `NO_SPACE` or `UNWRITABLE_OUTPUT`
   */
  writeJson(value: unknown, ...names: readonly string[]): Promise<void>;
  /** The same with a text, at a path. */
  writeText(text: string, place: string): Promise<void>;
  remove(...names: readonly string[]): Promise<void>;
}

/** @throws BrandfillError `UNWRITABLE_OUTPUT` when it cannot be made */
export function openAppFolder(path: string): AppFolder {
  const at = (...names: readonly string[]): string => join(path, ...names);
  const make = (...names: readonly string[]): string => {
    const folder = at(...names);
    try {
      for (const place of new Set([path, dirname(folder), folder])) {
        makeFolder(place, PRIVATE_FOLDER);
      }
    } catch (error) {
      throw new BrandfillError(
        'UNWRITABLE_OUTPUT',
        `Cannot keep anything in ${folder}: ${describeSystemError(error)}; choose another folder with --dir.`,
        { cause: error },
      );
    }
    return folder;
  };
  /** One after the other: of two texts for one place, the later one stays. */
  let writing: Promise<void> = Promise.resolve();
  const writeText = async (text: string, place: string): Promise<void> => {
    const written = writing.then(async () => await write(text, place));
    writing = written.catch(() => {});
    await written;
  };
  const write = async (text: string, place: string): Promise<void> => {
    const temporary = temporaryPath(`${place}.`);
    try {
      const handle = await open(temporary, 'wx', PRIVATE.mode);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, place);
    } catch (error) {
      await rm(temporary, { force: true });
      throw refusalOfDisk(error, path);
    }
  };
  make();
  return {
    path,
    at,
    make,
    readJson: (...names) => {
      try {
        return JSON.parse(readFileSync(at(...names), 'utf8')) as unknown;
      } catch {
        return undefined;
      }
    },
    writeJson: async (value, ...names) => {
      await writeText(`${JSON.stringify(value, undefined, 1)}\n`, at(...names));
    },
    writeText,
    remove: async (...names) => {
      await rm(at(...names), { recursive: true, force: true });
    },
  };
}

/** What a file system refused, for people. */
export function refusalOfDisk(error: unknown, folder: string): AppRefusal {
  if (FULL.has(systemErrorCode(error) ?? '')) return refusalOfSpace(folder, error);
  return new AppRefusal(
    'UNWRITABLE_OUTPUT',
    `${folder} cannot be written: ${describeSystemError(error)}. Nothing that was there is lost.`,
    { cause: error },
  );
}

/** That the disk is full. */
export function refusalOfSpace(folder: string, cause?: unknown): AppRefusal {
  return new AppRefusal(
    'NO_SPACE',
    `There is no room left on the disk of ${folder}. Make room there (delete earlier lists and runs, or empty the bin), then do it again. Nothing that was there is lost.`,
    { cause },
  );
}

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** A new id of a list or a run. Only such ids become parts of paths. */
export function createId(): string {
  return randomBytes(6).toString('hex');
}

/** Whether something that came over HTTP is such an id. */
export function isId(id: string): boolean {
  return /^[0-9a-f]{12}$/.test(id);
}
