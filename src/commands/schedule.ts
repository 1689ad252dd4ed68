import { hostname } from 'node:os';
import {
  BrandfillError,
  describeError,
  EXIT,
  exitCodeOfError,
  type OnNotice,
} from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { createRunId } from '../common/hashes.ts';
import {
  aborted,
  createCallbackGuard,
  createCloser,
  SHUTDOWN_TIMEOUT_MS,
  within,
} from '../common/lifetime.ts';
import { isTimezone } from '../common/text.ts';
import {
  type SCHEDULE_FLAGS,
  SCHEDULE_OPTIONS,
  type ScheduleSettings,
} from '../options/command-options.ts';
import type { OptionsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import {
  checkOptions,
  libraryNaming,
  type OptionKinds,
  readSettings,
} from '../options/read-options.ts';
import { openStatus } from '../page/status.ts';
import type { RedisServer } from '../queue/redis.ts';
import { createNoticeFilter, reasonOf, toQueueError } from '../queue/redis-errors.ts';
import type {
  DueRun,
  KeptSchedule,
  ScheduledJob,
  ScheduledResult,
  Schedules,
} from '../queue/schedules.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import { print, type RunCommand, type Service, say, serve } from './command.ts';
import { type JobSurroundings, jobNameOf, openJobFile, runJob } from './run.ts';

/** Options of a schedule. */
export interface ScheduleOptions extends OptionsOf<typeof SCHEDULE_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** Paths of job files. Files without `schedule` are ignored. */
  readonly files: readonly string[];
  /** Stops in order: a run under way ends early, keeps what it found, and is made again later. */
  readonly signal?: AbortSignal | undefined;
  /** Called with notices, each worth a line in a log. */
  readonly onNotice?: OnNotice | undefined;
  /** Called with each event of a run, and with the id of the run in logs. */
  readonly onRunEvent?: ((job: string, event: RunEvent, run: string) => void) | undefined;
  /** Called when a run is over. */
  readonly onRunEnd?: ((job: string) => void) | undefined;
}

/** How often files are read again, and schedules that Redis has lost are kept anew. */
const LOOK_MS = 10_000;

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
  checkOptions(options, { of: 'schedule', declared: SCHEDULE_OPTIONS, others: OTHERS, describe });
  const callbackGuard = createCallbackGuard([options.signal]);
  const { signal } = callbackGuard;
  const onNotice = callbackGuard.guard(options.onNotice ?? (() => {}));
  const onRunEvent = callbackGuard.guard(options.onRunEvent ?? (() => {}));
  const onRunEnd = callbackGuard.guard(options.onRunEnd ?? (() => {}));
  const { url, settings } = readPlace(options, describe);
  const files = nameFiles(options.files);
  let wanted = await readSchedules(files, onNotice);
  if (wanted.size === 0) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot schedule anything: none of the files has a 'schedule', such as { cron: '30 2 * * *' }.`,
    );
  }
  // Loaded here, so that an error in the options need not wait for it.
  const queue = await import('../queue/index.ts');
  const closer = createCloser();
  try {
    const { acceptEviction = false, name } = settings;
    const status = await openStatus({ settings, describe, command: 'schedule', onNotice });
    if (status) closer.add(status);
    const redis = closer.add(await queue.openQueueServer({ url, acceptEviction, onNotice }));
    const schedules = queue.openSchedules(redis.client, name);
    closer.add({ close: async () => void (await within(SHUTDOWN_TIMEOUT_MS, schedules.close())) });
    await reconcile(wanted, schedules, onNotice);
    onNotice(
      `Keeping the schedules '${name}' on Redis at ${redis.name}: ${[...wanted.keys()].join(', ')}.`,
      { level: 'info' },
    );
    status?.health.check(() => queue.findRedisTrouble(redis));
    status?.health.check(() => (signal.aborted ? 'it was told to stop' : undefined));
    // Without a connection, a command would wait.
    status?.metrics.forSchedules(async () =>
      redis.client.status === 'ready' ? await schedules.list() : [],
    );
    status?.health.started();
    const isNews = createNoticeFilter();
    const tell = (error: unknown): void => {
      const { message } = toQueueError(error) as Error;
      if (isNews(message)) onNotice(message);
    };
    const run = async (due: DueRun, runSignal: AbortSignal): Promise<boolean> => {
      const file = files.get(due.job);
      if (file === undefined) {
        onNotice(`${due.job}: is due, but its file was not given to this process; it is skipped.`);
        return true;
      }
      return await makeRun(due, {
        file,
        schedules,
        onNotice,
        signal: runSignal,
        around: {
          metrics: status?.metrics,
          board: url,
          schedule: { group: name, job: due.job },
        },
        onEvent: (event, id) => onRunEvent(due.job, event, id),
        onEnd: () => onRunEnd(due.job),
      });
    };
    closer.add(
      await queue.takeRuns({
        redis,
        name,
        run,
        onGivenUp: (job, starts) => {
          const error = `It was begun ${starts} times without an end, since its process was stopped or lost each time; it is left until it is next due.`;
          onNotice(`${job}: ${error}`, { job });
          const at = new Date().toISOString();
          const result = {
            why: 'due',
            startedAt: at,
            finishedAt: at,
            exitCode: EXIT.unexpected,
            error,
          } as const;
          schedules.addResult(job, { ...result, host: hostname() }).catch(tell);
        },
        onError: tell,
      }),
    );
    const looking = queue.repeat(
      LOOK_MS,
      async () => {
        wanted = await readSchedules(files, onNotice, wanted);
        await reconcile(wanted, schedules, onNotice);
      },
      tell,
    );
    closer.add({ close: async () => looking.close() });
    await aborted(signal);
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
  callbackGuard.throwIfFailed();
}

const OTHERS: OptionKinds<BesideSettings> = {
  files: 'files',
  signal: 'signal',
  onNotice: 'function',
  onRunEvent: 'function',
  onRunEnd: 'function',
};

/** The place where schedules are kept. */
type SchedulePlace = Pick<OptionsOf<typeof SCHEDULE_OPTIONS>, 'queue' | 'name' | 'acceptEviction'>;

function readPlace(
  options: SchedulePlace,
  describe: (key: string) => string,
): { readonly url: string; readonly settings: ScheduleSettings } {
  const given = { ...options };
  const settings = readSettings(SCHEDULE_OPTIONS, { given, env: process.env, describe });
  if (settings.queue !== undefined) return { url: settings.queue, settings };
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot keep schedules without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
  );
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

/**
 * Reads when the files are due.
 *
 * @param before what they said before: kept for files that cannot be read now. @default that throws
 */
async function readSchedules(
  files: ReadonlyMap<string, string>,
  onNotice: OnNotice,
  before?: ReadonlyMap<string, KeptSchedule>,
): Promise<Map<string, KeptSchedule>> {
  const wanted = new Map<string, KeptSchedule>();
  for (const [job, file] of files) {
    try {
      const { values, error } = await openJobFile(file, { env: process.env });
      const { schedule: found } = values;
      if (error) throw error;
      if (found)
        wanted.set(job, { cron: found.cron.trim(), timezone: zoneOf(found.timezone, file) });
      else if (!before) onNotice(`${file} has no 'schedule' and is skipped.`);
    } catch (error) {
      const known = before?.get(job);
      if (!before || !(error instanceof BrandfillError)) throw error;
      if (known) wanted.set(job, known);
    }
  }
  return wanted;
}

function zoneOf(given: string | undefined, file: string): string {
  // Typed as a text always, but undefined where TZ names no zone.
  const own: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (given !== undefined) return given;
  if (own !== undefined && isTimezone(own)) return own;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${file}: schedule: the time zone of this machine has no name; give 'timezone', such as Europe/Berlin or UTC.`,
  );
}

/** Makes Redis match the files. What is as it was is left alone: its next time may be a missed one. */
async function reconcile(
  wanted: ReadonlyMap<string, KeptSchedule>,
  schedules: Schedules,
  onNotice: OnNotice,
): Promise<void> {
  const kept = await schedules.read();
  for (const [job, { cron, timezone }] of wanted) {
    const known = kept.get(job);
    if (known?.cron === cron && known.timezone === timezone) continue;
    await schedules.keep(job, { cron, timezone });
    onNotice(`${job}: is scheduled for '${cron}' (${timezone}).`, { level: 'info', job });
  }
  for (const job of kept.keys()) {
    if (wanted.has(job)) continue;
    await schedules.forget(job);
    onNotice(`${job}: its schedule is no longer in the files and was removed from Redis.`, { job });
  }
}

interface MakeRunOptions {
  readonly file: string;
  readonly schedules: Pick<Schedules, 'addResult' | 'list'>;
  /** Ends the run in order. */
  readonly signal: AbortSignal;
  readonly onNotice: OnNotice;
  readonly around: JobSurroundings;
  readonly onEvent: (event: RunEvent, run: string) => void;
  readonly onEnd: () => void;
}

/**
 * Runs a job file, and records how it went. Never throws.
 *
 * @returns whether the run came to its end
 */
async function makeRun(due: DueRun, options: MakeRunOptions): Promise<boolean> {
  const { file, schedules, signal, around, onEvent, onEnd } = options;
  const { job, why } = due;
  const run = createRunId();
  const onNotice: OnNotice = (message, facts) =>
    options.onNotice(`${job}: ${message}`, { ...facts, job, run });
  const startedAt = new Date();
  onNotice(describeStart(due), { level: 'info' });
  const { summary, ...ended } = await tryToRun(file, { signal, run, around, onEvent });
  const finishedAt = new Date();
  onEnd();
  onNotice(describeEnd(ended, finishedAt.getTime() - startedAt.getTime()), {
    level: ended.exitCode === EXIT.ok ? 'info' : 'warn',
    event: ended.error === undefined ? 'finished' : 'error',
    exitCode: ended.exitCode,
    ...(summary && { summary }),
  });
  const result: ScheduledResult = {
    why,
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt.toISOString(),
    host: hostname(),
    ...ended,
  };
  const noting = schedules.addResult(job, result).catch((error: unknown) => {
    if (!signal.aborted) onNotice(`the result could not be saved (${reasonOf(error)}).`);
  });
  await (signal.aborted ? within(SHUTDOWN_TIMEOUT_MS, noting) : noting);
  return ended.error === undefined && ended.stopped !== 'interrupted';
}

type Ended = Omit<ScheduledResult, 'why' | 'startedAt' | 'finishedAt' | 'host'>;

async function tryToRun(
  file: string,
  {
    signal,
    run,
    around,
    onEvent,
  }: Pick<MakeRunOptions, 'signal' | 'around' | 'onEvent'> & { readonly run: string },
): Promise<Ended & { readonly summary?: Summary }> {
  try {
    const { summary, exitCode } = await runJob(
      file,
      {
        signal,
        runId: run,
        onEvent: (event) => onEvent(event, run),
        onLoaded: ({ options }) => {
          if (options.input !== '-') return;
          throw new BrandfillError(
            'INVALID_SETTING',
            `Cannot run ${file} by schedule: its list is standard input, which has an end; name a file in 'input'.`,
          );
        },
      },
      around,
    );
    const { rows, statuses, calls, stopped } = summary;
    const { found, failed } = statuses;
    const why = stopped === undefined ? {} : { stopped: stopped.reason };
    return { summary, exitCode, rows, found, failed, calls, ...why };
  } catch (error) {
    return { exitCode: exitCodeOfError(error), error: describeError(error) };
  }
}

function describeStart({ why, dueAtMs, isAgain }: DueRun): string {
  if (isAgain) return 'starts again; it was interrupted, or its process was lost.';
  if (why === 'asked') return 'starts on request.';
  const due = `it was due at ${new Date(dueAtMs).toISOString()}`;
  return why === 'missed' ? `starts late: ${due}.` : `starts; ${due}.`;
}

function describeEnd(
  { exitCode, rows, found, failed, calls, stopped, error }: Ended,
  elapsedMs: number,
): string {
  const end = `ended with exit code ${exitCode} after ${formatDuration(elapsedMs)}`;
  if (error !== undefined) return `${end}: ${error}`;
  const counts = `${rows} rows, ${found} found, ${failed} failed, ${calls} calls`;
  return `${end}: ${counts}${stopped === undefined ? '' : `; stopped early (${stopped})`}.`;
}

export interface ListSchedulesOptions extends SchedulePlace {}

/**
 * Lists what is scheduled, when it is due next, and how its runs ended.
 *
 * @throws BrandfillError when an option or the queue cannot be used
 */
export async function listSchedules(
  options: ListSchedulesOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<readonly ScheduledJob[]> {
  checkOptions(options, { of: 'listSchedules', ...KNOWN, describe });
  return await withSchedules(options, describe, async (all) => {
    const lists = await Promise.all(all.map((schedules) => schedules.list()));
    return lists.flat();
  });
}

/**
 * Asks for a run of a scheduled job now, from a process that keeps its schedule.
 *
 * @returns false when a run is already going on or asked for
 * @throws BrandfillError when an option or the queue cannot be used, or there is no such job
 */
export async function runScheduled(
  job: string,
  options: ListSchedulesOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<boolean> {
  checkOptions(options, { of: 'runScheduled', ...KNOWN, describe });
  return await withSchedules(options, describe, async (all) => {
    const known: string[] = [];
    for (const schedules of all) {
      const jobs = await schedules.read();
      if (jobs.has(job)) return await schedules.ask(job);
      known.push(...jobs.keys());
    }
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot run ${job}: it is not scheduled; there are: ${known.toSorted().join(', ') || 'none'}.`,
    );
  });
}

const KNOWN = { declared: SCHEDULE_OPTIONS, others: {} } as const;

/** Opens the schedules of the name that is given, or of all. */
async function withSchedules<T>(
  options: ListSchedulesOptions,
  describe: (key: string) => string,
  work: (all: readonly Schedules[]) => Promise<T>,
): Promise<T> {
  const { url, settings } = readPlace(options, describe);
  const { acceptEviction = false } = settings;
  const queue = await import('../queue/index.ts');
  let redis: RedisServer | undefined;
  try {
    redis = await queue.openQueueServer({ url, acceptEviction, onNotice: () => {} });
    const { client } = redis;
    const names = options.name === undefined ? await queue.findSchedules(client) : [settings.name];
    return await work(names.map((name) => queue.openSchedules(client, name)));
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await redis?.close();
  }
}

/** `brandfill schedule` */
export const runSchedule: RunCommand<typeof SCHEDULE_FLAGS> = async (call) => {
  const { words: files, options, flags } = call;
  const { list, json, run } = flags;
  if (list) {
    const jobs = await listSchedules(options, flagOf);
    print(...(json ? [JSON.stringify(jobs)] : describeSchedules(jobs)));
  } else if (run !== undefined) {
    const isNew = await runScheduled(run, options, flagOf);
    say(`A run of ${run} ${isNew ? 'is asked for' : 'is running or asked for already'}.`);
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

/** Shows schedules as a table in lines, followed by remarks. */
export function describeSchedules(jobs: readonly ScheduledJob[]): readonly string[] {
  if (jobs.length === 0) return ['Nothing is scheduled.'];
  const rows = jobs.map((job) => [job.job, describeWhen(job), ...describeLast(job)]);
  const orphans = [...new Set(jobs.filter(({ isKept }) => !isKept).map(({ group }) => group))];
  const errors = jobs.flatMap(({ job, results: [last] }) =>
    last?.error === undefined ? [] : [`${job}: ${last.error}`],
  );
  return [
    ...toTable([HEAD, ...rows]),
    ...errors,
    ...orphans.map((group) => `No process is there to run '${group}'; start brandfill schedule.`),
  ];
}

const HEAD = [
  'job',
  'schedule',
  'next',
  'last',
  'took',
  'exit',
  'rows',
  'found',
  'failed',
  'calls',
  'stopped',
];
/** Columns of numbers. */
const RIGHT = new Set([4, 5, 6, 7, 8, 9]);

function describeWhen({ cron, timezone }: ScheduledJob): string {
  return `${cron} (${timezone})`;
}

function describeLast({
  nextAt,
  timezone,
  runningSince,
  isWaiting,
  results: [last],
}: ScheduledJob): readonly string[] {
  const next = inZone(nextAt, timezone);
  const state =
    runningSince === undefined
      ? isWaiting && 'waits to be run'
      : `runs since ${inZone(runningSince, timezone)}`;
  const results = last ? describeResult(last, timezone) : ['never'];
  return [state ? `${next}, ${state}` : next, ...results];
}

function describeResult(result: ScheduledResult, timezone: string): readonly string[] {
  const { startedAt, finishedAt, exitCode, rows, found, failed, calls, stopped } = result;
  const counts = [rows, found, failed, calls].map((count) =>
    count === undefined ? '' : count.toLocaleString('en-US'),
  );
  const tookMs = Date.parse(finishedAt) - Date.parse(startedAt);
  return [
    inZone(startedAt, timezone),
    formatDuration(tookMs),
    String(exitCode),
    ...counts,
    stopped ?? (result.error === undefined ? '' : 'error'),
  ];
}

/**
 * `2026-11-21 02:30:00`, on the clocks of a time zone; in UTC if only other machines know the zone.
 */
function inZone(time: string, timeZone: string): string {
  if (!isTimezone(timeZone)) return `${inZone(time, 'UTC')} UTC`;
  const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(new Date(time));
}

function toTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEAD.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows.map((row) =>
    widths
      .map((width, at) => {
        const cell = row[at] ?? '';
        return RIGHT.has(at) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
