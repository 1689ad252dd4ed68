import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, sep } from 'node:path';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { SCHEDULE_OPTIONS, type ScheduleSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/options.ts';
import { readSettings } from '../options/read-options.ts';

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

/** The place where schedules are kept. */
export type SchedulePlace = Pick<
  OptionsOf<typeof SCHEDULE_OPTIONS>,
  'queue' | 'name' | 'acceptEviction'
>;

/** Reads the settings of that place. */
export function readPlace(
  options: SchedulePlace,
  describe: (key: string) => string,
): { readonly url: string; readonly settings: ScheduleSettings } {
  const settings = readSettings(SCHEDULE_OPTIONS, {
    given: { ...options },
    env: process.env,
    describe,
  });
  if (settings.queue !== undefined) return { url: settings.queue, settings };
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot keep schedules without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
  );
}

/**
 * Resolves links in the folders of files. Files are not resolved: in Kubernetes they are links that
 * change.
 */
export async function foldersOf(files: readonly string[]): Promise<readonly string[]> {
  return await Promise.all(
    files.map(async (file) => {
      try {
        return await realpath(dirname(file));
      } catch (error) {
        const why = describeSystemError(error);
        throw new BrandfillError('INVALID_SETTING', `Cannot read the job file ${file}: ${why}.`);
      }
    }),
  );
}
