import { stat } from 'node:fs/promises';
import { BrandfillError } from '../common/errors.ts';
import { jobNameOf } from '../load-job.ts';
import type { Environment } from '../options/job-file-values.ts';
import type { KeptSchedule } from '../queue/bullmq/schedules/schedule-queue.ts';
import { type ReadSchedule, readSchedule } from './read-schedule.ts';

/**
 * The schedules of the files, by the name of the job. Undefined for a file that cannot be read: it
 * keeps its schedule.
 */
export type WantedSchedules = ReadonlyMap<string, KeptSchedule | undefined>;

/** Job files, and when they are run. */
export interface ScheduledFiles {
  /** By the names of their jobs. */
  readonly files: ReadonlyMap<string, string>;
  /**
   * Reads all of them.
   *
   * @throws BrandfillError `INVALID_SETTING` when a file does not exist or has an impossible
   * schedule, or when no file can be read
   */
  readAll(): Promise<WantedSchedules>;
  /** Reads the files that were edited since. Mistakes in them are reported. */
  readEdited(): Promise<ReadonlyMap<string, ReadSchedule>>;
}

export interface ScheduledFilesOptions {
  readonly env: Environment;
  /** Called with mistakes in files. */
  readonly onNotice: (message: string) => void;
}

/**
 * @param paths job files; each job is called after the name of its file without folder and ending
 * @throws BrandfillError `INVALID_SETTING` when two jobs would have the same name
 */
export function openScheduledFiles(
  paths: readonly string[],
  { env, onNotice }: ScheduledFilesOptions,
): ScheduledFiles {
  const files = nameFiles(paths);
  const stamps = new Map<string, string>();

  async function read(job: string, file: string): Promise<ReadSchedule> {
    stamps.set(job, await stampOf(file));
    const found = await readSchedule(file, env);
    if ('error' in found) onNotice(found.error.message);
    return found;
  }

  return {
    files,
    readAll: async () => {
      const wanted = new Map<string, KeptSchedule | undefined>();
      const errors: BrandfillError[] = [];
      for (const [job, file] of files) {
        stamps.set(job, await stampOf(file));
        const found = await readSchedule(file, env);
        if (found.kind === 'invalid') throw found.error;
        if (found.kind === 'unscheduled') onNotice(`${file} has no 'schedule' and is skipped.`);
        else wanted.set(job, found.kind === 'scheduled' ? found.schedule : undefined);
        if ('error' in found) errors.push(found.error);
      }
      const [first] = errors;
      if (first && errors.length === files.size) throw first;
      for (const { message } of errors) onNotice(message);
      return wanted;
    },
    readEdited: async () => {
      const edited = new Map<string, ReadSchedule>();
      for (const [job, file] of files) {
        if ((await stampOf(file)) === stamps.get(job)) continue;
        try {
          edited.set(job, await read(job, file));
        } catch (error) {
          if (!(error instanceof BrandfillError)) throw error;
          onNotice(error.message);
        }
      }
      return edited;
    },
  };
}

function nameFiles(paths: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const path of paths) {
    const other = files.get(jobNameOf(path));
    if (other !== undefined && other !== path) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot schedule both ${other} and ${path}: jobs are told apart by the names of their files; rename one of them.`,
      );
    }
    files.set(jobNameOf(path), path);
  }
  return files;
}

/** Changes when the file does. */
async function stampOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  return found ? `${found.mtimeMs} ${found.size} ${found.ino}` : '';
}
