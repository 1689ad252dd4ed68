import type { Command } from 'commander';
import { BrandfillError, EXIT } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { isTimezone, printable } from '../common/text.ts';
import type { ListSchedulesOptions, ScheduleOptions } from '../index.ts';
import { SCHEDULE_OPTIONS } from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import type { ScheduledResult } from '../queue/bullmq/schedule-worker.ts';
import type { ScheduledJob } from '../schedule/group.ts';
import {
  addLogFlags,
  addSettings,
  type CliContext,
  type LogFlags,
  serve,
  splitLogFlags,
} from './command.ts';

/** Flags that only the command line has. */
interface ScheduleFlags {
  readonly list: boolean;
  readonly json: boolean;
  readonly run: string | undefined;
  readonly logFlags: LogFlags;
}

/** Adds `brandfill schedule [files...]`. */
export function addScheduleCommand(program: Command, context: CliContext): void {
  const command = program
    .command('schedule')
    .description('run job files on their schedules, until told to stop; Redis keeps the schedules')
    .argument('[files...]', 'job files, such as jobs/*.yaml; those without a schedule are skipped');
  addSettings(command, SCHEDULE_OPTIONS);
  command
    .option('--list', 'show the schedules, and how the last runs went')
    .option('--run <JOB>', 'run a scheduled job now, in the process that keeps its schedule')
    .option('--json', 'with --list: print JSON');
  addLogFlags(command)
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (files: readonly string[], typed: Record<string, unknown>) => {
      const { logFlags, others } = splitLogFlags(typed);
      const { list = false, json = false, run, ...given } = others;
      const flags = { list, json, run, logFlags } as ScheduleFlags;
      context.finish(await runSchedule({ ...toOptions(given), files }, flags, context));
    });
}

async function runSchedule(
  options: ScheduleOptions,
  { list, json, run, logFlags }: ScheduleFlags,
  context: CliContext,
): Promise<number> {
  if (list) return await showSchedules(options, json);
  if (run !== undefined) return await runNow(run, options);
  if (options.files.length > 0) return await keepSchedules(options, logFlags, context);
  throw new BrandfillError(
    'INVALID_SETTING',
    'Cannot schedule without job files: name them, such as jobs/*.yaml, or give --list.',
  );
}

async function showSchedules(options: ListSchedulesOptions, asJson: boolean): Promise<number> {
  const { listSchedules } = await import('../commands/schedule.ts');
  const jobs = await listSchedules(options, flagOf);
  const text = asJson ? JSON.stringify(jobs) : describeSchedules(jobs).map(printable).join('\n');
  process.stdout.write(`${text}\n`);
  return EXIT.ok;
}

async function runNow(job: string, options: ListSchedulesOptions): Promise<number> {
  const { runScheduled } = await import('../commands/schedule.ts');
  const isNew = await runScheduled(job, options, flagOf);
  const words = isNew ? 'is asked for' : 'is running or asked for already';
  process.stderr.write(`A run of ${job} ${words}.\n`);
  return EXIT.ok;
}

async function keepSchedules(
  options: ScheduleOptions,
  logFlags: LogFlags,
  context: CliContext,
): Promise<number> {
  const stopping =
    'Stopping: runs end early and keep what they found. Interrupt again to end at once.';
  return await serve({ command: 'schedule', logFlags, context, stopping }, async (service) => {
    const { schedule } = await import('../commands/schedule.ts');
    const { createRunViews } = await import('../watch/views.ts');
    await schedule({ ...options, ...createRunViews(service.log), ...service.common }, flagOf);
    service.say('Stopped.');
    return EXIT.ok;
  });
}

const EXIT_CODE_HELP = `  0    told to stop, or the schedules were shown
  1    unexpected error
  2    invalid option, or a job file or queue that cannot be used`;

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
  'skipped',
  'stopped',
];
/** Columns of numbers. */
const RIGHT = new Set([4, 5, 6, 7, 8, 9, 10]);

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
  const { startedAt, finishedAt, exitCode, rows, found, failed, calls, skipped, stopped } = result;
  const counts = [rows, found, failed, calls, skipped].map((count) =>
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
