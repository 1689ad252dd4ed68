import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describeSelf, isHere, type Owner, shortenPlace } from './owner.ts';

// A file appears under its name when it is whole: it is written under a temporary one beside that,
// and renamed. The name says whose it is, so that what killed processes left can be removed.

/**
 * A temporary file whose process cannot be looked at from here, as in another container or before the
 * machine was started anew, counts as left once nothing was written to it for so long.
 */
const LONGEST_PAUSE_MS = 60 * 60_000;

/** Tells the temporary files of a process apart. */
let made = 0;

/**
 * A path that no other writer has, be it in a container that has the same host name and process number.
 *
 * @param stem what the path begins with: a folder and the beginning of a name
 * @param self this process
 */
export function temporaryPath(stem: string, self: Owner = thisProcess()): string {
  const { place, pid, startedAt } = self;
  made += 1;
  return `${stem}${shortenPlace(place)}-${pid}-${startedAt}-${made}.part`;
}

/**
 * The temporary files that begin with a stem and whose process is gone.
 *
 * @throws Error of the file system when the folder cannot be read
 */
export async function findLeftovers(stem: string, self: Owner = thisProcess()): Promise<string[]> {
  const folder = dirname(stem);
  const prefix = basename(stem);
  const here = { ...self, place: shortenPlace(self.place) };
  const left: string[] = [];
  for (const name of await readdir(folder)) {
    const owner = name.startsWith(prefix) ? ownerIn(name.slice(prefix.length)) : undefined;
    if (!owner) continue;
    const path = join(folder, name);
    if (!(isHere(owner, here) ?? (await isBeingWritten(path)))) left.push(path);
  }
  return left;
}

/** Whose file it is; its place is shortened. */
function ownerIn(mark: string): Owner | undefined {
  const [, place, pid, startedAt] = /^([0-9a-f]{12})-(\d+)-(\d*)-\d+\.part$/.exec(mark) ?? [];
  if (place === undefined || startedAt === undefined) return undefined;
  return { place, pid: Number(pid), startedAt, token: '' };
}

async function isBeingWritten(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined); // its writer may have renamed it just now
  return !found || Date.now() - found.mtimeMs < LONGEST_PAUSE_MS;
}

let own: Owner | undefined;

/** Looked up once: a run writes many pictures. */
function thisProcess(): Owner {
  own ??= describeSelf();
  return own;
}
