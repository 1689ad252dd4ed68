import { createHash } from 'node:crypto';
import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrandfillError, describeSystemError, systemErrorCode } from '../../common/errors.ts';
import {
  type FileAccess,
  followOwnLinks,
  makeFolder,
  newFileMode,
  newFolderMode,
  temporaryPath,
} from '../../common/files.ts';
import { HOUR_MS } from '../../common/format.ts';
import { isOwnFile } from '../../store/home.ts';
import { PICTURE_KINDS, type Picture, type PictureKind } from './fetch-picture.ts';

/** A folder with one picture for each domain. */
export type PictureFolder = Awaited<ReturnType<typeof openPictureFolder>>;

/**
 * Opens a folder, creates it if necessary, and makes sure that it can be written.
 *
 * @param from the files that its pictures are made from: they are never more open than those
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openPictureFolder(given: string, from: readonly FileAccess[] = []) {
  const mode = newFileMode(from);
  let path = given;
  let stem = '';
  try {
    path = await followOwnLinks(given);
    stem = join(path, PREFIX);
    makeFolder(path, newFolderMode(from));
    await removeLeftovers(path);
    const trial = temporaryPath(stem);
    await writeFile(trial, '', { flag: 'wx' });
    await rm(trial);
  } catch (error) {
    const isFile = systemErrorCode(error) === 'EEXIST';
    const why = isFile ? 'it is a file, not a folder' : describeSystemError(error);
    throw new BrandfillError('UNWRITABLE_OUTPUT', `Cannot write logos to ${given}: ${why}.`, {
      cause: error,
    });
  }

  return {
    /** Whether it has a file of that name and size. */
    has: async (file: string, sizeBytes: number): Promise<boolean> => {
      const found = await stat(join(path, file)).catch(() => undefined);
      return found?.isFile() === true && found.size === sizeBytes;
    },
    /**
     * Saves a picture in place of the domain's previous one, whole or not at all.
     *
     * @returns the name of its file
     * @throws the error of the file system
     */
    save: async (domain: string, { kind, bytes }: Picture): Promise<string> => {
      const file = pictureFileOf(domain, kind);
      const temporary = temporaryPath(stem);
      try {
        await writeFile(temporary, bytes, { flag: 'wx', mode });
        await rename(temporary, join(path, file));
      } finally {
        await rm(temporary, { force: true });
      }
      for (const other of PICTURE_KINDS) {
        if (other !== kind) await rm(join(path, pictureFileOf(domain, other)), { force: true });
      }
      return file;
    },
  };
}

const PREFIX = '.brandfill-';
const TEMPORARY = /^\.brandfill-[\da-f-]{36}\.part$/;

/**
 * Removes temporary files that were left by a process that was killed: nobody pauses so long in
 * between.
 */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((name) => TEMPORARY.test(name))) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined); // its writer may just have renamed it
    const isOld = found !== undefined && Date.now() - found.mtimeMs > HOUR_MS;
    if (isOld && isOwnFile(path)) await rm(path, { force: true });
  }
}

/** With their ending, longer names fit no file system. */
const MOST_NAME = 200;

/** The name of the file of a domain's picture: `acme.com.png`. */
export function pictureFileOf(domain: string, kind: PictureKind): string {
  if (domain.length <= MOST_NAME) return `${domain}.${kind}`;
  const mark = createHash('sha256').update(domain).digest('hex').slice(0, 16);
  return `${domain.slice(0, MOST_NAME)}-${mark}.${kind}`;
}
