import { hostname } from 'node:os';
import type { OnNotice } from '../../common/errors.ts';
import { describeError, EXIT, exitCodeOfError, refusal } from '../../common/errors.ts';
import { createRunId } from '../../common/hashes.ts';
import { aborted, SHUTDOWN_TIMEOUT_MS, within } from '../../common/lifetime.ts';
import { isTimezone, localTime } from '../../common/text.ts';
import { readJobFile } from '../../options/job-file.ts';
import { flag } from '../../options/kinds.ts';
import { option, under } from '../../options/option.ts';
import { QUEUE_OPTIONS, STATUS_OPTIONS } from '../../options/options.ts';
import type { RunSurroundings } from '../../page/show-run.ts';
import { reasonOf } from '../../queue/redis-errors.ts';
import type { DueRun, KeptSchedule, ScheduledJob, ScheduledResult } from '../../queue/schedules.ts';
import { openJobDisplay } from '../../watch/display.ts';
import { inBrief, type RunView } from '../../watch/run-view.ts';
import { defineCommand, LOG_OPTIONS, print } from './command.ts';
import { jobNameOf, runJob } from './run.ts';
import { type QueueService, serveQueue, withQueue } from './with-queue.ts';

const SCHEDULE_OPTIONS = {
  ...QUEUE_OPTIONS,
  ...STATUS_OPTIONS,
  ...under('What is shown', {
    list: option(flag(), { help: 'show the schedules, and how the last runs went' }),
    json: option(flag(), { help: 'with --list: print JSON' }),
  }),
  ...LOG_OPTIONS,
};

/**
 * `brandfill schedule`: runs job files at their times, one at a time. The schedules are kept in
 * Redis. A job that was due while no process was there is run once when one is back. Several
 * processes may do this with the same files: each run is made by one of them.
 */
export const schedule = defineCommand(SCHEDULE_OPTIONS, async (call) => {
  const { words: files, settings } = call;
  const { list, json } = settings;
  if (list) {
    await withQueue({ settings, onNotice: () => {} }, async ({ queue, redis }) => {
      const jobs = await queue.openSchedules(redis.client).list();
      print(...(json ? [JSON.stringify(jobs)] : describeSchedules(jobs)));
    });
  } else if (files.length > 0) {
    const named = nameFiles(files);
    await serveQueue(call, async (opened) => {
      await keep(named, settings.queue, opened);
      opened.say('Stopped.');
    });
  } else {
    throw refusal(
      'Cannot schedule without job files: name them, such as jobs/*.yaml, or give --list.',
    );
  }
});

/** Keeps the schedules of job files, and runs those that are due. */
async function keep(
  files: ReadonlyMap<string, string>,
  board: string | undefined,
  { queue, redis, status, closer, log, signal, onNotice, say }: QueueService,
): Promise<void> {
  const wanted = readSchedules(files, onNotice);
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
    const runId = createRunId();
    const startedAt = new Date();
    onNotice(describeStart(due), { level: 'info', job, run: runId });
    const display = openJobDisplay(log, { job, run: runId });
    const around = {
      ...(status && { metrics: status.metrics }),
      board,
      schedule: { job },
      onRecorder: display.onRecorder,
    };
    const context = { signal: stop, runId, onEvent: display.show };
    const { summary, ...ended } = await tryToRun(file, context, around);
    display.end();
    onNotice(`${job}: ended with exit code ${ended.exitCode}. ${ended.headline}`, {
      level: ended.exitCode === EXIT.ok ? 'info' : 'warn',
      event: summary ? 'finished' : 'error',
      job,
      run: runId,
      exitCode: ended.exitCode,
      ...(summary && { summary: inBrief(summary) }),
    });
    const finishedAt = new Date().toISOString();
    await note(job, { startedAt: startedAt.toISOString(), finishedAt, ...ended });
    return summary !== undefined && ended.exitCode !== EXIT.interrupted;
  }

  function onGivenUp(job: string, starts: number): void {
    const headline = `It was begun ${starts} times without an end, since its process was stopped or lost each time; it is left until it is next due.`;
    onNotice(`${job}: ${headline}`, { job });
    const at = new Date().toISOString();
    void note(job, { startedAt: at, finishedAt: at, exitCode: EXIT.unexpected, headline });
  }

  closer.add(await queue.keepSchedules({ redis, wanted, run, onGivenUp, onNotice }));
  say(`Keeping the schedules on Redis at ${redis.name}: ${[...wanted.keys()].join(', ')}.`);
  // Without a connection, a command would wait.
  status?.metrics.forSchedules(async () =>
    redis.client.status === 'ready' ? await schedules.list() : [],
  );
  status?.health.started();
  await aborted(signal);
}

function nameFiles(paths: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const path of paths) {
    const other = files.get(jobNameOf(path));
    if (other !== undefined && other !== path) {
      throw refusal(
        `Cannot schedule both ${other} and ${path}: jobs are known by the names of their files; rename one of them.`,
      );
    }
    files.set(jobNameOf(path), path);
  }
  return files;
}

/** Reads when the files are due. */
function readSchedules(
  files: ReadonlyMap<string, string>,
  onNotice: OnNotice,
): ReadonlyMap<string, KeptSchedule> {
  const wanted = new Map<string, KeptSchedule>();
  for (const [job, file] of files) {
    const { options, schedule, error } = readJobFile(file, { env: process.env, now: new Date() });
    if (error) throw error;
    if (!schedule) {
      onNotice(`${file} has no 'schedule' and is skipped.`);
      continue;
    }
    if (options.input === '-') {
      throw refusal(
        `Cannot run ${file} by schedule: its list is standard input, which has an end; name a file in 'input'.`,
      );
    }
    // Undefined where TZ names no zone, whatever its type says.
    const ofMachine = Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC';
    const { cron, timezone = ofMachine } = schedule;
    wanted.set(job, { cron, timezone });
  }
  if (wanted.size > 0) return wanted;
  throw refusal(
    `Cannot schedule anything: none of the files has a 'schedule', such as { cron: '30 2 * * *' }.`,
  );
}

type Ended = Omit<ScheduledResult, 'startedAt' | 'finishedAt' | 'host'>;

async function tryToRun(
  file: string,
  options: Parameters<typeof runJob>[1],
  around: RunSurroundings,
): Promise<Ended & { readonly summary?: RunView }> {
  try {
    const { summary, exitCode } = await runJob(file, options, around);
    const { headline = '', why = '' } = summary;
    return { summary, exitCode, headline: `${headline} ${why}`.trim() };
  } catch (error) {
    return { exitCode: exitCodeOfError(error), headline: describeError(error) };
  }
}

function describeStart({ job, dueAtMs, isAgain }: DueRun): string {
  if (isAgain) return `${job}: starts again; it was interrupted, or its process was lost.`;
  return `${job}: starts; it was due at ${new Date(dueAtMs).toISOString()}.`;
}

/** Shows schedules in three lines each, at the times of their places. */
export function describeSchedules(jobs: readonly ScheduledJob[]): readonly string[] {
  if (jobs.length === 0) return ['Nothing is scheduled.'];
  const lines = jobs.flatMap(({ job, cron, timezone, results: [last], ...now }) => {
    const isKnown = isTimezone(timezone); // another Node.js has stored it
    const at = (time: string): string => localTime(new Date(time), isKnown ? timezone : 'UTC');
    const waiting = now.isWaiting ? ', waits to be run' : '';
    return [
      `${job}: ${cron} (${timezone}${isKnown ? '' : ', a time zone that this Node.js does not know: times are in UTC'})`,
      `  next ${at(now.nextAt)}${now.runningSince === undefined ? waiting : `, runs since ${at(now.runningSince)}`}`,
      `  last ${last ? `${at(last.startedAt)}, exit code ${last.exitCode}. ${last.headline}` : 'never'}`,
    ];
  });
  if (jobs.every(({ isKept }) => isKept)) return lines;
  return [...lines, 'No process is there to run them; start brandfill schedule.'];
}
