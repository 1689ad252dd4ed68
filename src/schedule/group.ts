import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, sep } from 'node:path';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { SCHEDULE_OPTIONS, type ScheduleSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { readSettings } from '../options/read-options.ts';
import type { DueSchedule, ScheduleQueue } from '../queue/bullmq/schedule-queue.ts';
import type { ScheduledResult, ScheduleResults } from '../queue/bullmq/schedule-worker.ts';

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

/** The known facts of a scheduled job. */
export interface ScheduledJob {
  /** The name of its file without folder and ending. */
  readonly job: string;
  /** The name of the group of schedules that it belongs to. */
  readonly group: string;
  readonly cron: string;
  readonly timezone: string;
  /** When it is due next, in ISO 8601, UTC. In the past when no process was there to run it. */
  readonly nextAt: string;
  /** Since when it has been running. */
  readonly runningSince?: string;
  /** Whether a run waits for a process to make it. */
  readonly isWaiting: boolean;
  /** Whether a process is there to run it. */
  readonly isKept: boolean;
  /** How its last runs ended, the latest first. */
  readonly results: readonly ScheduledResult[];
}

export interface ListGroupOptions {
  readonly group: string;
  readonly queue: Pick<ScheduleQueue, 'read' | 'findRuns'>;
  readonly results: Pick<ScheduleResults, 'read'>;
  readonly isKept: boolean;
}

/** Lists the jobs of a group by name. */
export async function listGroup(options: ListGroupOptions): Promise<readonly ScheduledJob[]> {
  const { group, queue, results, isKept } = options;
  const schedules = [...(await queue.read())].sort(([a], [b]) => a.localeCompare(b));
  const runs = await queue.findRuns(schedules.map(([job]) => job));
  const toListed = async ([job, due]: readonly [string, DueSchedule]): Promise<ScheduledJob> => {
    const run = runs.get(job);
    return {
      job,
      group,
      cron: due.cron,
      timezone: due.timezone,
      nextAt: new Date(due.nextAtMs).toISOString(),
      ...(typeof run === 'number' ? { runningSince: new Date(run).toISOString() } : {}),
      isWaiting: run === 'waiting',
      isKept,
      results: await results.read(job),
    };
  };
  return await Promise.all(schedules.map(toListed));
}
