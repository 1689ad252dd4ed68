import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BrandfillError, describeSystemError, systemErrorCode } from '../../common/errors.ts';
import { makeFolder, PRIVATE, PRIVATE_FOLDER, temporaryPath } from '../../common/files.ts';
import { withoutSecrets } from '../../common/secrets.ts';

/** Something that cannot be done, in whole sentences for the person at the page. */
export class AppRefusal extends Error {
  override readonly name = 'AppRefusal';
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Each code with the status of its answer. */
export const REFUSALS = {
  INVALID_SETTING: 422,
  UNREADABLE_INPUT: 422,
  NO_COLUMN: 422,
  NO_CONNECTION: 409,
  UNWRITABLE_OUTPUT: 500,
  NO_SPACE: 507,
  NOT_FOUND: 404,
  NOT_NOW: 409,
  UNEXPECTED: 500,
} as const;

export type RefusalCode = keyof typeof REFUSALS;

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
  remove(...names: readonly string[]): Promise<void>;
}

/** @throws BrandfillError `UNWRITABLE_OUTPUT` when it cannot be made */
export function openAppFolder(path: string): AppFolder {
  const at = (...names: readonly string[]): string => join(path, ...names);
  const isOurs = !existsSync(path) || existsSync(at('lists'));
  const make = (...names: readonly string[]): string => {
    const folder = at(...names);
    try {
      const places = new Set([...(isOurs ? [path] : []), dirname(folder), folder]);
      for (const place of places) {
        makeFolder(place, PRIVATE_FOLDER);
        if (place !== path || isOurs) if (place.startsWith(path)) chmodSync(place, PRIVATE_FOLDER);
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
      throw refusalOf(error, path);
    }
  };
  for (const name of ['lists', 'runs', 'store', 'rehearsal', 'spool']) make(name);
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

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

const CODES: Readonly<Partial<Record<BrandfillError['code'], RefusalCode>>> = {
  INVALID_SETTING: 'INVALID_SETTING',
  UNREADABLE_INPUT: 'UNREADABLE_INPUT',
  UNWRITABLE_OUTPUT: 'UNWRITABLE_OUTPUT',
  UNUSABLE_STORE: 'UNWRITABLE_OUTPUT',
};

/** What went wrong, for people. It never holds a credential. */
export function refusalOf(error: unknown, folder: string): AppRefusal {
  if (error instanceof AppRefusal) return error;
  const options = { cause: error };
  for (let one = error; one instanceof Error; one = one.cause) {
    if (FULL.has(systemErrorCode(one) ?? '')) {
      return new AppRefusal(
        'NO_SPACE',
        `There is no room left on the disk of ${folder}. Make room there (delete earlier lists and runs, or empty the bin), then do it again. Nothing that was there is lost.`,
        options,
      );
    }
  }
  if (error instanceof BrandfillError) {
    return new AppRefusal(
      CODES[error.code] ?? 'UNEXPECTED',
      withoutSecrets(error.message),
      options,
    );
  }
  if (systemErrorCode(error) !== undefined) {
    const message = `${folder} cannot be used: ${describeSystemError(error)}. Nothing that was there is lost.`;
    return new AppRefusal('UNWRITABLE_OUTPUT', message, options);
  }
  const why = error instanceof Error ? error.message : String(error);
  const message = `Something unexpected happened: ${withoutSecrets(why)}`;
  return new AppRefusal('UNEXPECTED', message, options);
}

/** A new id of a list or a run. Only such ids become parts of paths. */
export function createId(): string {
  return randomBytes(6).toString('hex');
}

/** Whether something that came over HTTP is such an id. */
export function isId(id: string): boolean {
  return /^[0-9a-f]{12}$/.test(id);
}
