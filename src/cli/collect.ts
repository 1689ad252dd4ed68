import type { Command } from 'commander';
import type { CollectOptions } from '../commands/collect.ts';
import { EXIT } from '../common/exit-codes.ts';
import { countOf, formatCount } from '../common/format.ts';
import { COLLECT_OPTIONS } from '../options/command-options.ts';
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

/** Adds `brandfill collect`. */
export function addCollectCommand(program: Command, context: CliContext): void {
  const command = program
    .command('collect')
    .description(
      'write the outcomes of backfills from a queue to hourly files, until told to stop',
    );
  addSettings(command, COLLECT_OPTIONS);
  addLogFlags(command)
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (given: Record<string, unknown>) => {
      context.finish(await runCollect(given, context));
    });
}

async function runCollect(
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { logFlags, others: given } = splitLogFlags(typed);
  const log = await openCommandLog(logFlags, { fields: { command: 'collect' }, context });
  const { collect } = await import('../commands/collect.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const say = (message: string): void => log.write('info', message);
  interrupt.signal.addEventListener('abort', () => {
    say(
      'Stopping: outcomes that have arrived are written, and files are finished. Interrupt again to end at once.',
    );
  });
  const options = {
    ...toOptions(given),
    signal: interrupt.signal,
    onNotice: noticesTo(log),
  } as CollectOptions;
  try {
    const { enriched, failures, repeated } = await collect(options, flagOf);
    const lines = countOf(enriched + failures, 'line');
    const replies = countOf(repeated, 'reply', 'replies');
    const again = repeated > 0 ? `; ${replies} came again, already written` : '';
    const others = countOf(failures, 'other');
    say(`Stopped after ${lines}: ${formatCount(enriched)} found, ${others}${again}.`);
    return EXIT.ok;
  } finally {
    interrupt.dispose();
  }
}

const EXIT_CODE_HELP = `  0    told to stop
  1    unexpected error
  2    invalid option, or a queue or folder that cannot be used`;
