import { hostname } from 'node:os';
import type { OnNotice } from '../common/errors.ts';
import { BrandfillError, describeError, EXIT, exitCodeOfError } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { createRunId } from '../common/hashes.ts';
import { aborted, createCallbackGuard, SHUTDOWN_TIMEOUT_MS, within } from '../common/lifetime.ts';
import { isTimezone } from '../common/text.ts';
import { type SCHEDULE_FLAGS, SCHEDULE_OPTIONS } from '../options/command-options.ts';
import { readJobFile } from '../options/job-file.ts';
import { callback, signal, textList } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf, readOptions } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import type { RunSurroundings } from '../page/show-run.ts';
import { reasonOf } from '../queue/redis-errors.ts';
import type { DueRun, KeptSchedule, ScheduledJob, ScheduledResult } from '../queue/schedules.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import { print, type RunCommand, type Service, say, serve } from './command.ts';
import { jobNameOf, runJob } from './run.ts';
import { withQueue } from './with-queue.ts';

const SCHEDULE = {
  ...SCHEDULE_OPTIONS,
  /** Paths of job files. Files without `schedule` are ignored. */
  files: textList(),
  /** Stops in order: a run under way ends early, keeps what it found, and is made again later. */
  signal: signal(),
  /** Called with notices, each worth a line in a log. */
  onNotice: callback<OnNotice>(),
  /** Called with each event of a run, and with the id of the run in logs. */
  onRunEvent: callback<(job: string, event: RunEvent, run: string) => void>(),
  /** Called when a run is over. */
  onRunEnd: callback<(job: string) => void>(),
};

/** Options of a schedule. */
export interface ScheduleOptions extends OptionsOf<typeof SCHEDULE> {}

/**
 * Runs job files at their times, one at a time, until it is told to stop. The schedules are kept in
 * Redis. A job that was due while no process was there is run once when one is back. Several
 * processes may do this with the same files: each run is made by one of them.
 *
 * @throws BrandfillError when an option, a file or the queue cannot be used; the error that a
 *   callback threw, after the run under way was given back
 *
 * @example
 * ```ts
 * await schedule({ files: ['jobs/nightly-crm.yaml'], queue: 'redis://localhost:6379/0' });
 * ```
 */
export async function schedule(
  options: ScheduleOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<void> {
  const settings = readOptions('schedule', SCHEDULE, { given: options, describe });
  const callbackGuard = createCallbackGuard([options.signal]);
  const { signal } = callbackGuard;
  const onNotice = callbackGuard.guard(options.onNotice ?? (() => {}));
  const onRunEvent = callbackGuard.guard(options.onRunEvent ?? (() => {}));
  const onRunEnd = callbackGuard.guard(options.onRunEnd ?? (() => {}));
  const files = nameFiles(options.files);
  const wanted = await readSchedules(files, onNotice);
  const service = { purpose: 'keep schedules', command: 'schedule', settings, describe } as const;
  await withQueue({ ...service, signal, onNotice }, async ({ queue, redis, status, closer }) => {
    const schedules = queue.openSchedules(redis.client);
    closer.add({ close: async () => void (await within(SHUTDOWN_TIMEOUT_MS, schedules.close())) });

    async function note(job: string, result: Omit<ScheduledResult, 'host'>): Promise<void> {
      const noting = schedules
        .addResult(job, { ...result, host: hostname() })
        .catch((error: unknown) =>
          onNotice(`${job}: the result could not be saved (${reasonOf(error)}).`, { job }),
        );
      await (signal.aborted ? within(SHUTDOWN_TIMEOUT_MS, noting) : noting);
    }

    async function run(due: DueRun, stop: AbortSignal): Promise<boolean> {
      const { job } = due;
      const file = files.get(job);
      if (file === undefined) {
        onNotice(`${job}: is due, but its file was not given to this process; it is skipped.`);
        return true;
      }
      const run = createRunId();
      const startedAt = new Date();
      onNotice(describeStart(due), { level: 'info', job, run });
      const metrics = status && { metrics: status.metrics };
      const around = { ...metrics, board: settings.queue, schedule: { job } };
      const events = { runId: run, onEvent: (event: RunEvent) => onRunEvent(job, event, run) };
      const { summary, ...ended } = await tryToRun(file, { signal: stop, ...events }, around);
      const finishedAt = new Date();
      onRunEnd(job);
      const took = formatDuration(finishedAt.getTime() - startedAt.getTime());
      onNotice(`${job}: ended after ${took}: ${describeEnd(ended)}`, {
        level: ended.exitCode === EXIT.ok ? 'info' : 'warn',
        event: ended.error === undefined ? 'finished' : 'error',
        job,
        run,
        exitCode: ended.exitCode,
        ...(summary && { summary }),
      });
      const times = { startedAt: startedAt.toISOString(), finishedAt: finishedAt.toISOString() };
      await note(job, { ...times, ...ended });
      return ended.error === undefined && ended.stopped !== 'interrupted';
    }

    function onGivenUp(job: string, starts: number): void {
      const error = `It was begun ${starts} times without an end, since its process was stopped or lost each time; it is left until it is next due.`;
      onNotice(`${job}: ${error}`, { job });
      const at = new Date().toISOString();
      void note(job, { startedAt: at, finishedAt: at, exitCode: EXIT.unexpected, error });
    }

    closer.add(await queue.keepSchedules({ redis, wanted, run, onGivenUp, onNotice }));
    onNotice(`Keeping the schedules on Redis at ${redis.name}: ${[...wanted.keys()].join(', ')}.`, {
      level: 'info',
    });
    // Without a connection, a command would wait.
    status?.metrics.forSchedules(async () =>
      redis.client.status === 'ready' ? await schedules.list() : [],
    );
    status?.health.started();
    await aborted(signal);
  });
  callbackGuard.throwIfFailed();
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

/** Reads when the files are due. */
async function readSchedules(
  files: ReadonlyMap<string, string>,
  onNotice: OnNotice,
): Promise<ReadonlyMap<string, KeptSchedule>> {
  const wanted = new Map<string, KeptSchedule>();
  const refuse = (problem: string): BrandfillError =>
    new BrandfillError('INVALID_SETTING', problem);
  for (const [job, file] of files) {
    const { options, schedule, error } = readJobFile(file, { env: process.env, now: new Date() });
    if (error) throw error;
    if (!schedule) {
      onNotice(`${file} has no 'schedule' and is skipped.`);
      continue;
    }
    if (options.input === '-') {
      throw refuse(
        `Cannot run ${file} by schedule: its list is standard input, which has an end; name a file in 'input'.`,
      );
    }
    const { cron, timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = schedule;
    // Undefined where TZ names no zone, whatever its type says.
    if (!timezone || !isTimezone(timezone)) {
      throw refuse(
        `Cannot use ${file}: schedule: the time zone of this machine has no name; give 'timezone', such as Europe/Berlin or UTC.`,
      );
    }
    wanted.set(job, { cron: cron.trim(), timezone });
  }
  if (wanted.size > 0) return wanted;
  throw refuse(
    `Cannot schedule anything: none of the files has a 'schedule', such as { cron: '30 2 * * *' }.`,
  );
}

type Ended = Omit<ScheduledResult, 'startedAt' | 'finishedAt' | 'host'>;

async function tryToRun(
  file: string,
  options: Parameters<typeof runJob>[1],
  around: RunSurroundings,
): Promise<Ended & { readonly summary?: Summary }> {
  try {
    const { summary, exitCode } = await runJob(file, options, around);
    const { rows, statuses, calls, stopped } = summary;
    const { found, failed } = statuses;
    const why = stopped === undefined ? {} : { stopped: stopped.reason };
    return { summary, exitCode, rows, found, failed, calls, ...why };
  } catch (error) {
    return { exitCode: exitCodeOfError(error), error: describeError(error) };
  }
}

function describeStart({ job, isAsked, dueAtMs, isAgain }: DueRun): string {
  if (isAgain) return `${job}: starts again; it was interrupted, or its process was lost.`;
  if (isAsked) return `${job}: starts on request.`;
  return `${job}: starts; it was due at ${new Date(dueAtMs).toISOString()}.`;
}

function describeEnd({ exitCode, rows, found, failed, calls, stopped, error }: Ended): string {
  if (error !== undefined) return `exit code ${exitCode}: ${error}`;
  const [all, good, bad, made] = [rows, found, failed, calls].map((each = 0) =>
    each.toLocaleString('en-US'),
  );
  const early = stopped === undefined ? '' : `; stopped early (${stopped})`;
  return `exit code ${exitCode}: ${all} rows, ${good} found, ${bad} failed, ${made} calls${early}.`;
}

export interface ListSchedulesOptions extends Pick<OptionsOf<typeof SCHEDULE_OPTIONS>, 'queue'> {}

/**
 * Lists what is scheduled, when it is due next, and how its runs ended.
 *
 * @throws BrandfillError when an option or the queue cannot be used
 */
export async function listSchedules(
  options: ListSchedulesOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<readonly ScheduledJob[]> {
  const settings = readOptions('listSchedules', SCHEDULE_OPTIONS, { given: options, describe });
  const service = { purpose: 'list schedules', settings, describe, onNotice: () => {} };
  return await withQueue(service, async ({ queue, redis }) => {
    return await queue.openSchedules(redis.client).list();
  });
}

/**
 * Asks for a run of a scheduled job now, from a process that keeps its schedule.
 *
 * @throws BrandfillError when an option or the queue cannot be used, there is no such job, or it runs or
 *   is asked for already
 */
export async function runScheduled(
  job: string,
  options: ListSchedulesOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<void> {
  const settings = readOptions('runScheduled', SCHEDULE_OPTIONS, { given: options, describe });
  const service = { purpose: 'run a scheduled job', settings, describe, onNotice: () => {} };
  await withQueue(service, async ({ queue, redis }) => {
    const why = await queue.openSchedules(redis.client).ask(job);
    if (why !== undefined) throw new BrandfillError('INVALID_SETTING', `Cannot run ${job}: ${why}`);
  });
}

/** `brandfill schedule` */
export const runSchedule: RunCommand<typeof SCHEDULE_FLAGS> = async (call) => {
  const { words: files, options, flags } = call;
  const { list, json, run } = flags;
  if (list) {
    const jobs = await listSchedules(options, flagOf);
    print(...(json ? [JSON.stringify(jobs)] : describeSchedules(jobs)));
  } else if (run !== undefined) {
    await runScheduled(run, options, flagOf);
    say(`A run of ${run} is asked for.`);
  } else if (files.length > 0) {
    const stopping =
      'Stopping: runs end early and keep what they found. Interrupt again to end at once.';
    const keep = async ({ log, say, common }: Service): Promise<void> => {
      const { createRunViews } = await import('../watch/views.ts');
      await schedule({ ...options, files, ...createRunViews(log), ...common }, flagOf);
      say('Stopped.');
    };
    await serve('schedule', call, keep, stopping);
  } else {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot schedule without job files: name them, such as jobs/*.yaml, or give --list.',
    );
  }
  return EXIT.ok;
};

/** Shows schedules in lines, two or three for each. */
export function describeSchedules(jobs: readonly ScheduledJob[]): readonly string[] {
  if (jobs.length === 0) return ['Nothing is scheduled.'];
  const lines = jobs.flatMap(({ job, cron, timezone, results: [last], ...now }) => {
    const at = (time: string): string => inZone(time, timezone);
    const waiting = now.isWaiting ? ', waits to be run' : '';
    const running =
      now.runningSince === undefined ? waiting : `, runs since ${at(now.runningSince)}`;
    return [
      `${job}: ${cron} (${timezone})`,
      `  next ${at(now.nextAt)}${running}`,
      last ? `  last ${at(last.startedAt)}, ${describeEnd(last)}` : '  last never',
    ];
  });
  if (jobs.every(({ isKept }) => isKept)) return lines;
  return [...lines, 'No process is there to run them; start brandfill schedule.'];
}

/** `2026-11-21 02:30:00`, on the clocks of a time zone; in UTC if only other machines know the zone. */
function inZone(time: string, timeZone: string): string {
  if (!isTimezone(timeZone)) return `${inZone(time, 'UTC')} UTC`;
  const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(new Date(time));
}
