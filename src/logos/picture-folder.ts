import { createHash } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import {
  type FileAccess,
  followOwnLinks,
  makeFolder,
  newFileMode,
  newFolderMode,
} from '../common/files.ts';
import { findLeftovers, temporaryPath } from '../common/temporary-files.ts';
import type { Picture } from './fetch-picture.ts';
import { PICTURE_KINDS, type PictureKind } from './logo-url.ts';

/** A folder with one picture for each domain. */
export interface PictureFolder {
  /** Whether it has a file of that name and size. */
  has(file: string, sizeBytes: number): Promise<boolean>;
  /**
   * Saves a picture in place of the domain's previous one, whole or not at all.
   *
   * @returns the name of its file
   */
  save(domain: string, picture: Picture): Promise<string>;
}

/**
 * Opens a folder, creates it if necessary, and makes sure that it can be written.
 *
 * @param from the files that its pictures are made from: they are never more open than those
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as all its functions do
 */
export async function openPictureFolder(
  given: string,
  from: readonly FileAccess[] = [],
): Promise<PictureFolder> {
  const mode = newFileMode(from);

  async function refused<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const why = isFileThere(error) ? 'it is a file, not a folder' : describeSystemError(error);
      throw new BrandfillError('UNWRITABLE_OUTPUT', `Cannot write logos to ${given}: ${why}.`, {
        cause: error,
      });
    }
  }

  async function write(bytes: Buffer, target: string): Promise<void> {
    const temporary = temporaryPath(stem);
    try {
      await writeFile(temporary, bytes, { flag: 'wx', mode });
      await rename(temporary, target);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  const path = await refused(() => followOwnLinks(given));
  const stem = join(path, '.brandfill-');
  await refused(async () => {
    makeFolder(path, newFolderMode(from));
    for (const left of await findLeftovers(stem)) await rm(left, { force: true });
    const trial = temporaryPath(stem);
    await writeFile(trial, '', { flag: 'wx' });
    await rm(trial);
  });

  return {
    has: async (file, sizeBytes) => {
      const found = await stat(join(path, file)).catch(() => undefined);
      return found?.isFile() === true && found.size === sizeBytes;
    },
    save: (domain, { kind, bytes }) =>
      refused(async () => {
        const file = pictureFileOf(domain, kind);
        await write(bytes, join(path, file));
        for (const other of PICTURE_KINDS) {
          if (other !== kind) await rm(join(path, pictureFileOf(domain, other)), { force: true });
        }
        return file;
      }),
  };
}

/** With their ending, longer names fit no file system. */
const MOST_NAME = 200;

/** The name of the file of a domain's picture: `acme.com.png`. */
export function pictureFileOf(domain: string, kind: PictureKind): string {
  return `${stemOf(domain)}.${kind}`;
}

function stemOf(domain: string): string {
  // On Windows, `con.com.png` is not a file but the console.
  if (/^(?:con|prn|aux|nul|(?:com|lpt)\d)\./.test(domain)) return `_${domain}`;
  if (domain.length <= MOST_NAME) return domain;
  const mark = createHash('sha256').update(domain).digest('hex').slice(0, 16);
  return `${domain.slice(0, MOST_NAME)}-${mark}`;
}

function isFileThere(error: unknown): boolean {
  const isOfFolder = error instanceof Error && 'syscall' in error && error.syscall === 'mkdir';
  return isOfFolder && systemErrorCode(error) === 'EEXIST';
}
