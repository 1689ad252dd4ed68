import type { BrandfillError } from '../common/errors.ts';
import type { JobFile } from '../job/job-file.ts';
import type { Environment } from '../job/variables.ts';
import { openJobFile } from '../load-job.ts';
import type { KeptSchedule } from '../queue/bullmq/schedule-queue.ts';

/** What a job file says of when it is run. */
export type ReadSchedule =
  | { readonly kind: 'scheduled'; readonly schedule: KeptSchedule; readonly error?: BrandfillError }
  /** Nothing is said of when. */
  | { readonly kind: 'unscheduled' }
  /** What it says of when is impossible. */
  | { readonly kind: 'invalid'; readonly error: BrandfillError }
  /** It cannot be read, so that nobody knows. */
  | { readonly kind: 'unknown'; readonly error: BrandfillError };

/**
 * Reads from a job file when it is run. That something else in it is wrong is an error beside its
 * schedule: it may be put right before it is due.
 *
 * @throws BrandfillError `INVALID_SETTING` when there is no such file
 */
export async function readSchedule(file: string, env: Environment): Promise<ReadSchedule> {
  const jobFile = await openJobFile(file, { env });
  const { values, error } = jobFile;
  const { schedule } = values;
  if (schedule) {
    const timezone = schedule.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const kept = { cron: schedule.cron.trim(), timezone };
    return { kind: 'scheduled', schedule: kept, ...(error && { error }) };
  }
  if (!error) return { kind: 'unscheduled' };
  if (jobFile.placeOf('schedule') !== undefined) return { kind: 'invalid', error };
  return isNothingKnown(values) ? { kind: 'unknown', error } : { kind: 'unscheduled' };
}

/** Of a text that is no YAML not a single key is known. */
function isNothingKnown(values: JobFile['values']): boolean {
  return Object.keys(values).length === 0;
}
