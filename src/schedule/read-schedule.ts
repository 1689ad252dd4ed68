import { BrandfillError } from '../common/errors.ts';
import { openJobFile } from '../load-job.ts';
import { isTimezone } from '../options/cron.ts';
import type { JobFile } from '../options/job-file.ts';
import type { Environment } from '../options/job-file-values.ts';
import type { KeptSchedule } from '../queue/bullmq/schedules/schedule-queue.ts';

/** What a job file says about when it is run. */
export type ReadSchedule =
  | { readonly kind: 'scheduled'; readonly schedule: KeptSchedule; readonly error?: BrandfillError }
  /** It has no schedule. */
  | { readonly kind: 'unscheduled' }
  /** Its schedule is impossible. */
  | { readonly kind: 'invalid'; readonly error: BrandfillError }
  /** It cannot be read, so its schedule is unknown. */
  | { readonly kind: 'unknown'; readonly error: BrandfillError };

/**
 * Reads from a job file when it is run. Other mistakes in the file are reported beside its
 * schedule, since they may be corrected before it is due.
 *
 * @throws BrandfillError `INVALID_SETTING` when there is no such file
 */
export async function readSchedule(file: string, env: Environment): Promise<ReadSchedule> {
  const jobFile = await openJobFile(file, { env });
  const { values, error } = jobFile;
  const { schedule } = values;
  if (schedule) {
    const timezone = schedule.timezone ?? findTimezone();
    if (timezone === undefined) return { kind: 'invalid', error: namelessTimezone(file, env) };
    const kept = { cron: schedule.cron.trim(), timezone };
    return { kind: 'scheduled', schedule: kept, ...(error && { error }) };
  }
  if (!error) return { kind: 'unscheduled' };
  if (jobFile.placeOf('schedule') !== undefined) return { kind: 'invalid', error };
  return isNothingKnown(values) ? { kind: 'unknown', error } : { kind: 'unscheduled' };
}

/** Whether no key is known, as in a text that is not YAML. */
function isNothingKnown(values: JobFile['values']): boolean {
  return Object.keys(values).length === 0;
}

/**
 * The time zone of this machine; undefined when other machines do not know its name, or it has
 * none.
 */
function findTimezone(): string | undefined {
  // Typed as a text always, but undefined where TZ names no zone.
  const name: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name !== undefined && isTimezone(name) ? name : undefined;
}

function namelessTimezone(file: string, { TZ }: Environment): BrandfillError {
  const why = TZ === undefined ? '' : ` (TZ is '${TZ}')`;
  return new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${file}: schedule: the time zone of this machine has no name${why}; give 'timezone', such as Europe/Berlin or UTC.`,
  );
}
