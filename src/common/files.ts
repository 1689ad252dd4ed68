import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs';
import { type FileHandle, lstat, open, readlink, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';

/** Who may read a file, as the system says of it. */
export interface FileAccess {
  readonly mode: number;
  /** The group that the mode speaks of. */
  readonly gid: number;
}

/** For nobody but the owner. */
export const PRIVATE: FileAccess = { mode: 0o600, gid: -1 };

/** The mode of a folder for nobody but the owner. */
export const PRIVATE_FOLDER = 0o700;

/** The mode of a new file, before the umask. */
const NEW_FILE = 0o666;
const OWNER = 0o700;

/**
 * The permissions of a file that is made from others: those that it has, and that all of them have.
 * What the owner may do is left alone. A group that the others do not belong to may do what all
 * may.
 *
 * @param made what the file has, or would have
 */
export function modeWithin(made: FileAccess, from: readonly FileAccess[]): number {
  let mode = made.mode & 0o777;
  for (const { mode: given, gid } of from) {
    const everybody = given & (given >> 3) & 0o7;
    mode &= OWNER | (gid === made.gid ? given & 0o77 : everybody * 0o11);
  }
  return mode;
}

/** The mode to create a file with that is made from others. */
export function newFileMode(from: readonly FileAccess[]): number {
  return modeWithin({ mode: NEW_FILE, gid: process.getegid?.() ?? 0 }, from);
}

/** The mode to create a folder with for such files: whoever may read them may look into it. */
export function newFolderMode(from: readonly FileAccess[]): number {
  const mode = newFileMode(from);
  return OWNER | mode | ((mode & 0o444) >> 2);
}

/** The system follows no more links than this on one way. */
const MOST_LINKS = 40;

/**
 * The place that a path leads to, through links, whether or not there is a file. Links are followed
 * here, as the system would, but for those that another user may have planted.
 *
 * @throws Error that says so when a link belongs neither to this user nor to root, and lies in a
 *   folder where everybody may put things, such as `/tmp`, or does not belong to the owner of the
 *   folder. Root follows no other user's; `ENOENT` when it leads out of a folder that is not there
 */
export async function followOwnLinks(path: string): Promise<string> {
  const names = path.split(sep);
  let place = isAbsolute(path) ? sep : process.cwd();
  for (let followed = 0; ; ) {
    const name = names.shift();
    if (name === undefined) return place;
    const here = name === '..' ? dirname(place) : join(place, name);
    const found = await lstat(here).catch(() => undefined);
    if (found?.isSymbolicLink()) {
      await refusePlanted(here, { owner: found.uid, folder: place });
      followed += 1;
      const target = followed > MOST_LINKS ? undefined : await targetOf(here);
      if (target === undefined) return join(here, ...names);
      names.unshift(...target.split(sep));
      if (isAbsolute(target)) place = sep;
    } else if (found) place = here;
    // The system finds nothing there, and not what is beside that folder.
    else if (names.includes('..')) throw Object.assign(new Error(here), { code: 'ENOENT' });
    else return join(here, ...names);
  }
}

/** Undefined for `/dev/stdout` and the like, which lead to `pipe:[17]`, where there is no file. */
async function targetOf(link: string): Promise<string | undefined> {
  const target = await readlink(link);
  const isThere = await lstat(resolve(dirname(link), target)).catch(() => undefined);
  if (isThere) return target;
  const leadsSomewhere = await stat(link).catch(() => undefined);
  return leadsSomewhere ? undefined : target;
}

export const STICKY = 0o1000;
export const ALL_MAY_WRITE = 0o002;
const GROUP_MAY_WRITE = 0o020;

async function refusePlanted(
  link: string,
  { owner, folder }: { readonly owner: number; readonly folder: string },
): Promise<void> {
  const user = process.geteuid?.();
  if (user === undefined || owner === user || owner === 0) return;
  const { mode, uid } = await stat(folder);
  if (user !== 0 && owner === uid && (mode & ALL_MAY_WRITE) === 0) return;
  throw new Error(
    `${link} is a link that another user (with the number ${owner}) has put there; remove it, or choose another place`,
  );
}

/**
 * Creates a folder and its parents if they do not exist. Node's own `recursive` never ends when an
 * existing folder reports `ENOENT` for a new one, as `/proc` does.
 *
 * @param mode its permissions, if it is made, before the umask
 * @throws the error of the file system
 */
export function makeFolder(path: string, mode: number = 0o777): void {
  const parent = dirname(path);
  if (!existsSync(parent) && parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have created it meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** The identity of a file in the file system. */
export type FileIdentity = Readonly<Pick<Stats, 'dev' | 'ino'>>;

/** Whether the files found at two paths are the same one. False if nothing was found. */
export function isSameFile(
  one: FileIdentity | undefined,
  other: FileIdentity | undefined,
): boolean {
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

/**
 * Says who else can change a file that is there, or put another in its place: undefined when nobody
 * can. Root can do that anyway.
 */
export function othersWhoCanChange(path: string): string | undefined {
  const user = process.getuid?.();
  const found = statSync(path, { throwIfNoEntry: false });
  if (user === undefined || !found?.isFile()) return undefined;
  const { uid, mode } = found;
  if (uid !== user && uid !== 0) return 'it belongs to another user';
  if (mode & ALL_MAY_WRITE) return 'every user of this machine can change it';
  if (mode & GROUP_MAY_WRITE) return 'all of its group can change it';
  const folder = statSync(dirname(realpathSync(path)));
  const isOpen = (folder.mode & ALL_MAY_WRITE) !== 0 && (folder.mode & STICKY) === 0;
  return isOpen ? 'every user of this machine can put another file in its place' : undefined;
}

/** Makes new names in a folder durable, where the system supports it. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/**
 * How much free space a disk has for this user, in bytes.
 *
 * @param folder a folder on the disk
 * @throws the error of the system when the folder no longer exists
 */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Standard input, and the paths that shells make for `<(command)`. */
const PIPED = /^-$|^\/dev\/(?:stdin|fd\/\d+)$|^\/proc\/[^/]+\/fd\/\d+$/;

/**
 * Opens a file that a person names, without waiting for the other end of a pipe. Pipes are those of
 * the shell.
 *
 * @throws the error of the file system, or an Error that says that it is a device or a pipe
 */
export async function openToRead(path: string): Promise<FileHandle> {
  const handle = await open(path, flagsToRead(path));
  try {
    refuseEndless(path, await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function flagsToRead(path: string): number {
  return isPiped(path) ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK;
}

function refuseEndless(path: string, found: Stats): void {
  if (found.isFile() || isPiped(path)) return;
  const what = found.isDirectory() ? 'folder' : found.isFIFO() ? 'pipe' : 'device';
  throw new Error(`it is a ${what}, not a file`);
}

/**
 * The text of a small file, a pipe of the shell included.
 *
 * @returns undefined when there is more of it
 * @throws as {@link openToRead} does
 */
export function readSmallFile(path: string, mostBytes: number): string | undefined {
  const bytes = Buffer.alloc(mostBytes + 1);
  const file = openSync(path, flagsToRead(path));
  try {
    refuseEndless(path, fstatSync(file));
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      length += read;
      if (length > mostBytes) return undefined;
      if (read === 0) return bytes.toString('utf8', 0, length);
    }
  } finally {
    closeSync(file);
  }
}

/** Whether an input is a pipe, beside which no files can be written. */
export function isPiped(input: unknown): boolean {
  return typeof input === 'string' && PIPED.test(input);
}

// A file appears under its name when it is whole: it is written under a temporary one beside that,
// and renamed.

/**
 * A path that no other writer has.
 *
 * @param stem what the path begins with: a folder and the beginning of a name
 */
export function temporaryPath(stem: string): string {
  return `${stem}${randomUUID()}.part`;
}
