import type { Command } from 'commander';
import { EXIT } from '../common/exit-codes.ts';
import { DASHBOARD_OPTIONS } from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import {
  addLogFlags,
  addSettings,
  type CliContext,
  noticesTo,
  onInterrupt,
  openCommandLog,
  splitLogFlags,
} from './command.ts';

/** Adds `brandfill dashboard`. */
export function addDashboardCommand(program: Command, context: CliContext): void {
  const command = program
    .command('dashboard')
    .description(
      'show the runs, workers and schedules of a queue on a web page, until told to stop',
    );
  addSettings(command, DASHBOARD_OPTIONS);
  addTokenFlag(command);
  addLogFlags(command)
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (given: Record<string, unknown>) => {
      context.finish(await runDashboard(given, context));
    });
}

/** Gives a command that has a dashboard the flag for its token. */
export function addTokenFlag(command: Command): Command {
  return command.option(
    '--token <TOKEN>',
    'token for the dashboard; others on this machine can see it here, unlike with --token-file or BRANDFILL_DASHBOARD_TOKEN',
  );
}

async function runDashboard(
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { logFlags, others: given } = splitLogFlags(typed);
  const log = await openCommandLog(logFlags, { fields: { command: 'dashboard' }, context });
  const { dashboard } = await import('../commands/dashboard.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const { signal } = interrupt;
  try {
    const options = { ...toOptions(given), signal, onNotice: noticesTo(log) };
    await dashboard(options, flagOf);
    return EXIT.ok;
  } finally {
    interrupt.dispose();
  }
}

const EXIT_CODE_HELP = `  0    told to stop
  1    unexpected error
  2    invalid option, or a queue that cannot be used`;
