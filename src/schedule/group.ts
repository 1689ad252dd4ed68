import { createHash } from 'node:crypto';
import { basename, sep } from 'node:path';

/** The job files that one schedule process keeps, or several with the same ones. */
export interface Group {
  /** The name of the group in Redis. */
  readonly name: string;
  /** The folder that all its files are in. */
  readonly folder: string;
}

/**
 * Names the group of some job files after the folder that all of them are in. So the name stays the
 * same when a file is added or removed, and differs for another folder.
 *
 * @param folders the folders of the files, absolute
 * @param name the name that was given, if any
 */
export function groupOf(folders: readonly string[], name: string | undefined): Group {
  const folder = commonFolder(folders);
  if (name !== undefined) return { name, folder };
  const readable = basename(folder).replaceAll(/[^\w.-]+/g, '-') || 'root';
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 6);
  return { name: `${readable}-${hash}`, folder };
}

function commonFolder(folders: readonly string[]): string {
  const [first = [], ...others] = folders.map((folder) => folder.split(sep));
  const isShared = (part: string, at: number): boolean =>
    others.every((parts) => parts[at] === part);
  const end = first.findIndex((part, at) => !isShared(part, at));
  return first.slice(0, end === -1 ? first.length : end).join(sep) || sep;
}
