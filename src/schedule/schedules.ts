import { stat } from 'node:fs/promises';
import { jobNameOf, openJobFile } from '../commands/run.ts';
import { BrandfillError, type NoticeFacts, type OnNotice } from '../common/errors.ts';
import { DAY_MS } from '../common/format.ts';
import { isTimezone } from '../common/text.ts';
import type { JobFile } from '../options/job-file.ts';
import type { Environment } from '../options/job-file-values.ts';
import {
  type DueSchedule,
  type KeptSchedule,
  nextDue,
  type ScheduleQueue,
} from '../queue/bullmq/schedule-queue.ts';

export interface SchedulerOptions {
  readonly wanted: WantedSchedules;
  readonly queue: Pick<ScheduleQueue, 'read' | 'keep' | 'forget' | 'ask'>;
  /** Called with messages that are worth a line in a log. */
  readonly onNotice: OnNotice;
  readonly nowMs?: () => number;
}

/** Keeps the schedules in Redis in step with the files. */
export interface Scheduler {
  /** Makes Redis match the files. Unchanged schedules are left alone. */
  start(): Promise<void>;
  /**
   * Applies edits. A file that cannot be read keeps the schedule that it had. An edit that Redis
   * refuses is applied the next time.
   */
  takeUp(edited: ReadonlyMap<string, ReadSchedule>): Promise<void>;
  /** Restores schedules that Redis has lost, or that a clock that was ahead has put off. */
  mend(): Promise<void>;
}

/** A tick that is this late will not come any more. */
const LOST_TICK_MS = 60_000;
/** The clocks of several machines differ by less than this, or one of them is wrong. */
const FARTHEST_AHEAD_MS = DAY_MS;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { queue, onNotice, nowMs = Date.now } = options;
  const wanted = new Map(options.wanted);
  /** Edits that are not in Redis yet, because it may have refused them. */
  const edits = new Map<string, ReadSchedule>();

  /**
   * Schedules that were lost get a warning, since somebody may have to look at that. Schedules
   * taken up from files are as it should be.
   */
  async function keep(
    job: string,
    schedule: KeptSchedule,
    { words, level = 'info' }: { readonly words: string; readonly level?: NoticeFacts['level'] },
  ): Promise<void> {
    await queue.keep(job, schedule);
    onNotice(`${job}: ${words} '${schedule.cron}' (${schedule.timezone}).`, { level, job });
  }

  async function forget(job: string): Promise<void> {
    await queue.forget(job);
    wanted.delete(job);
    onNotice(`${job}: its schedule is no longer in the files and was removed from Redis.`, {
      job,
    });
  }

  /** Schedules that were kept while a clock was years ahead would not be due for years. */
  async function promote(kept: ReadonlyMap<string, DueSchedule>): Promise<void> {
    for (const [job, schedule] of wanted) {
      const nextAtMs = kept.get(job)?.nextAtMs;
      if (!schedule || nextAtMs === undefined) continue;
      const { cron: pattern, timezone: tz } = schedule;
      if (nextAtMs <= nextDue(nowMs() + FARTHEST_AHEAD_MS, { pattern, tz })) continue;
      const until = new Date(nextAtMs).toISOString();
      const words = `was postponed to ${until} by a clock that was ahead; it is scheduled again for`;
      await keep(job, schedule, { words, level: 'warn' });
    }
  }

  async function apply(job: string, found: ReadSchedule): Promise<void> {
    if (found.kind === 'unscheduled' && wanted.has(job)) await forget(job);
    if (found.kind !== 'scheduled') return;
    const before = wanted.get(job);
    if (!before || !isSame(before, found.schedule)) {
      await keep(job, found.schedule, { words: 'is now scheduled for' });
    }
    wanted.set(job, found.schedule);
  }

  return {
    start: async () => {
      const { add, change, remove, missed } = reconcile(wanted, await queue.read(), nowMs());
      for (const [job, words] of [
        ...add.map((job) => [job, 'is scheduled for'] as const),
        ...change.map((job) => [job, 'is now scheduled for'] as const),
      ]) {
        const schedule = wanted.get(job);
        if (schedule) await keep(job, schedule, { words });
      }
      for (const [job, dueAtMs] of missed) await queue.ask({ job, dueAtMs, why: 'missed' });
      for (const job of remove) await forget(job);
      await promote(await queue.read());
    },
    takeUp: async (edited) => {
      for (const [job, found] of edited) edits.set(job, found);
      for (const [job, found] of edits) {
        await apply(job, found);
        edits.delete(job);
      }
    },
    mend: async () => {
      const kept = await queue.read();
      for (const [job, schedule] of wanted) {
        const nextAtMs = kept.get(job)?.nextAtMs;
        const isThere = nextAtMs !== undefined && nextAtMs > nowMs() - LOST_TICK_MS;
        if (!schedule || isThere) continue;
        const words = 'was lost from Redis; it is again scheduled for';
        await keep(job, schedule, { words, level: 'warn' });
        if (nextAtMs !== undefined) await queue.ask({ job, dueAtMs: nextAtMs, why: 'missed' });
      }
      await promote(kept);
    },
  };
}

/** The changes that make Redis match the files. */
interface Reconciliation {
  /** Schedules that are new. */
  readonly add: readonly string[];
  /** Schedules with another cron or time zone. */
  readonly change: readonly string[];
  /** Schedules that are in no file any more. */
  readonly remove: readonly string[];
  /** When jobs were due whose schedule changed before a process was there to run them. */
  readonly missed: ReadonlyMap<string, number>;
}

/**
 * Compares the files with Redis. Unchanged schedules are left alone, since an overdue tick is what
 * shows a missed night.
 *
 * @param wanted by the name of the job; undefined for a file that cannot be read, which keeps its
 * schedule
 */
export function reconcile(
  wanted: ReadonlyMap<string, KeptSchedule | undefined>,
  kept: ReadonlyMap<string, DueSchedule>,
  nowMs: number,
): Reconciliation {
  const known = [...wanted].flatMap(([job, schedule]) => (schedule ? [{ job, schedule }] : []));
  const change = known
    .filter(({ job, schedule }) => {
      const old = kept.get(job);
      return old !== undefined && !isSame(old, schedule);
    })
    .map(({ job }) => job);
  return {
    add: known.filter(({ job }) => !kept.has(job)).map(({ job }) => job),
    change,
    remove: [...kept.keys()].filter((job) => !wanted.has(job)),
    missed: new Map(
      change.flatMap((job) => {
        const dueAtMs = kept.get(job)?.nextAtMs ?? nowMs;
        return dueAtMs < nowMs ? [[job, dueAtMs] as const] : [];
      }),
    ),
  };
}

function isSame(a: KeptSchedule, b: KeptSchedule): boolean {
  return a.cron === b.cron && a.timezone === b.timezone;
}

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
async function readSchedule(file: string, env: Environment): Promise<ReadSchedule> {
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
