import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  ALL_MAY_WRITE,
  followOwnLinks,
  makeFolder,
  PRIVATE,
  PRIVATE_FOLDER,
  STICKY,
} from '../common/files.ts';

// A folder that a person names may hold anything. What Brandfill keeps there lies in a home of its
// own, with a mark in it. Nothing beside the home is touched.
//
//   the folder ──┬─ of another user, or all may put things into it ──► refused
//                ├─ an older Brandfill laid its files into it ──► they are used where they are
//                └─ its home ──┬─ none, or empty ──► made and marked
//                              ├─ marked, of this user ──► used
//                              └─ anything else ──► refused

/** What has a home in a folder. */
export interface Inhabitant {
  /** The name of its home. */
  readonly name: string;
  /** Whether an older version of it lies in a folder itself. */
  readonly isDirectlyIn: (folder: string) => boolean;
}

/** The name of the mark in a home. */
export const MARK = 'BRANDFILL.TAG';
const MARKED = 'This folder belongs to Brandfill, which makes and removes what is in it.\n';

const OTHERS = 0o077;

/**
 * Finds the home in a folder, whether or not they are there, through no link that another user has
 * put there.
 *
 * @throws Error that says why the folder or the home cannot be used
 */
export async function findHome(folder: string, inhabitant: Inhabitant): Promise<string> {
  const place = await followOwnLinks(folder);
  if (existsSync(place)) refuseOthers(statSync(place));
  const home = homeIn(place, inhabitant);
  const found = lstatSync(home, { throwIfNoEntry: false });
  if (!found || home === place) return home;
  const isOurs = found.isDirectory() && isOwn(found);
  if (!isOurs || (readdirSync(home).length > 0 && !isMarked(home)))
    throw new Error(`${home} is in the way: this user's Brandfill has not made it`);
  closeToOthers(home, found.mode);
  return home;
}

/** The path of the home in a folder, whether or not it is there. */
export function homeIn(folder: string, { name, isDirectlyIn }: Inhabitant): string {
  const home = join(folder, name);
  return !isMarked(home) && isDirectlyIn(folder) ? folder : home;
}

/** Makes and marks what {@link findHome} has found, where that is not done. */
export function makeHome(home: string, { name }: Inhabitant): void {
  if (basename(home) !== name) return;
  makeFolder(dirname(home), PRIVATE_FOLDER);
  makeFolder(home, PRIVATE_FOLDER);
  if (!isMarked(home)) writeFileSync(join(home, MARK), MARKED, { mode: PRIVATE.mode, flag: 'a' });
}

/**
 * Removes a home with nothing but its mark in it: in one step, as others may be about to use it.
 */
export function leaveHome(home: string): void {
  if (!existsSync(home) || readdirSync(home).join() !== MARK) return;
  const gone = `${home}.${randomUUID()}`;
  renameSync(home, gone);
  rmSync(gone, { recursive: true });
}

export function isMarked(home: string): boolean {
  return isOwnFile(join(home, MARK));
}

/** Whether a path is a file of this user, and no link to one. */
export function isOwnFile(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && isOwn(found);
}

/** Whether a path is a socket of this user. */
export function isOwnSocket(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isSocket() && isOwn(found);
}

/** Whether something belongs to the user of this process. On Windows everything does. */
export function isOwn({ uid }: Pick<Stats, 'uid'>): boolean {
  const user = process.geteuid?.();
  return user === undefined || uid === user;
}

/** Where that is possible: some file systems have no permissions. */
export function closeToOthers(path: string, mode: number): void {
  try {
    if ((mode & OTHERS) !== 0) chmodSync(path, mode & 0o7700);
  } catch {}
}

/** @throws Error when others can put things into a folder, or others in the place of those in it */
function refuseOthers(folder: Stats): void {
  if (!folder.isDirectory()) throw Object.assign(new Error(), { code: 'EEXIST' });
  const isOfRoot = folder.uid === 0; // who can do anything anyway
  if (!isOwn(folder) && !isOfRoot)
    throw new Error(`it belongs to another user (with the number ${folder.uid})`);
  if ((folder.mode & ALL_MAY_WRITE) !== 0 && (folder.mode & STICKY) === 0)
    throw new Error('every user of this machine can put things into it (chmod o-w ends that)');
}
