import type { Command } from 'commander';
import { BrandfillError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import type { ListSchedulesOptions, ScheduleOptions } from '../index.ts';
import { flagOf } from '../job/read-settings.ts';
import { SCHEDULE_SETTINGS } from '../job/schedule-settings.ts';
import type { ConsoleView, ConsoleViewOptions } from '../watch/console-view.ts';
import { describeSchedules } from '../watch/schedule-table.ts';
import type { CliContext } from './context.ts';
import { onInterrupt } from './interrupt.ts';
import { addSettings, toOptions } from './setting-options.ts';

/** What only the command line has. */
interface ScheduleFlags {
  readonly list: boolean;
  readonly json: boolean;
  readonly run: string | undefined;
}

/** Adds `brandfill schedule [files...]`. */
export function addScheduleCommand(program: Command, context: CliContext): void {
  const command = program
    .command('schedule')
    .description('run job files when they say, until told to stop; Redis keeps the schedules')
    .argument(
      '[files...]',
      'job files, such as jobs/*.yaml; those without a schedule are left out',
    );
  addSettings(command, SCHEDULE_SETTINGS);
  command
    .option('--list', 'show what is scheduled, and how the last runs went')
    .option('--run <JOB>', 'have a scheduled job run now, by the process that keeps its schedule')
    .option('--json', 'with --list: as JSON')
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (files: readonly string[], typed: Record<string, unknown>) => {
      const { list = false, json = false, run, ...given } = typed;
      const flags = { list, json, run } as ScheduleFlags;
      context.finish(await runSchedule({ ...toOptions(given), files }, flags, context));
    });
}

async function runSchedule(
  options: ScheduleOptions,
  { list, json, run }: ScheduleFlags,
  context: CliContext,
): Promise<number> {
  if (list) return await showSchedules(options, json);
  if (run !== undefined) return await runNow(run, options);
  if (options.files.length > 0) return await keepSchedules(options, context);
  throw new BrandfillError(
    'INVALID_SETTING',
    'Cannot schedule without job files: name them, such as jobs/*.yaml, or give --list.',
  );
}

async function showSchedules(options: ListSchedulesOptions, asJson: boolean): Promise<number> {
  const { listSchedules } = await import('../index.ts');
  const jobs = await listSchedules(options, flagOf);
  const text = asJson ? JSON.stringify(jobs) : describeSchedules(jobs).join('\n');
  process.stdout.write(`${text}\n`);
  return EXIT.ok;
}

async function runNow(job: string, options: ListSchedulesOptions): Promise<number> {
  const { runScheduled } = await import('../index.ts');
  const isNew = await runScheduled(job, options, flagOf);
  const words = isNew ? 'is asked for' : 'is running or asked for already';
  process.stderr.write(`A run of ${job} ${words}.\n`);
  return EXIT.ok;
}

async function keepSchedules(options: ScheduleOptions, context: CliContext): Promise<number> {
  const { schedule } = await import('../index.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const { signal } = interrupt;
  signal.addEventListener('abort', () => {
    say('Stopping: runs end early and keep what they found. Once more ends at once.');
  });
  const { createConsoleView } = await import('../watch/console-view.ts');
  const views = createRunViews(createConsoleView);
  try {
    await schedule({ ...options, ...views, signal, onNotice: say }, flagOf);
    say('Stopped.');
    return EXIT.ok;
  } finally {
    interrupt.dispose();
  }
}

/** Shows what runs tell, line by line, each after the name of its job. */
function createRunViews(
  createView: (options: ConsoleViewOptions) => ConsoleView,
): Required<Pick<ScheduleOptions, 'onRunEvent' | 'onRunEnd'>> {
  const views = new Map<string, ConsoleView>();
  const viewOf = (job: string): ConsoleView => {
    const write = (line: string): boolean => say(`${job}: ${line.trimEnd()}`);
    const view =
      views.get(job) ?? createView({ stream: { write } as NodeJS.WriteStream, progress: 'lines' });
    views.set(job, view);
    return view;
  };
  return {
    onRunEvent: (job, event) => viewOf(job).show(event),
    onRunEnd: (job) => {
      views.get(job)?.end();
      views.delete(job);
    },
  };
}

function say(message: string): boolean {
  return process.stderr.write(`${new Date().toISOString()} ${message}\n`);
}

const EXIT_CODE_HELP = `  0    told to stop, or shown
  1    something unexpected
  2    a wrong option, or a job file or a queue that cannot be used`;
