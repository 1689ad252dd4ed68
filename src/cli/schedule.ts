import type { Command } from 'commander';
import { BrandfillError } from '../common/errors.ts';
import { printable } from '../common/text.ts';
import { EXIT } from '../exit-codes.ts';
import type { ListSchedulesOptions, ScheduleOptions } from '../index.ts';
import { SCHEDULE_OPTIONS } from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import { describeSchedules } from '../watch/describe/schedule-table.ts';
import type { CliContext } from './context.ts';
import { onInterrupt } from './interrupt.ts';
import {
  addLogFlags,
  type LogFlags,
  noticesTo,
  openCommandLog,
  splitLogFlags,
} from './log-flags.ts';
import { addSettings } from './setting-options.ts';

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
  const { listSchedules } = await import('../scheduled.ts');
  const jobs = await listSchedules(options, flagOf);
  const text = asJson ? JSON.stringify(jobs) : describeSchedules(jobs).map(printable).join('\n');
  process.stdout.write(`${text}\n`);
  return EXIT.ok;
}

async function runNow(job: string, options: ListSchedulesOptions): Promise<number> {
  const { runScheduled } = await import('../scheduled.ts');
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
  const log = await openCommandLog(logFlags, { fields: { command: 'schedule' }, context });
  const { schedule } = await import('../schedule.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const { signal } = interrupt;
  signal.addEventListener('abort', () => {
    log.write(
      'info',
      'Stopping: runs end early and keep what they found. Interrupt again to end at once.',
    );
  });
  const { createRunViews } = await import('./schedule-views.ts');
  try {
    const views = createRunViews(log);
    await schedule({ ...options, ...views, signal, onNotice: noticesTo(log) }, flagOf);
    log.write('info', 'Stopped.');
    return EXIT.ok;
  } finally {
    interrupt.dispose();
  }
}

const EXIT_CODE_HELP = `  0    told to stop, or the schedules were shown
  1    unexpected error
  2    invalid option, or a job file or queue that cannot be used`;
