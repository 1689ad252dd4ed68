import { type Command, Option } from 'commander';
import type { EnrichOptions } from '../enrich.ts';
import { BrandfillError } from '../errors.ts';
import { flagOf, SETTINGS } from '../job/settings.ts';
import type { ProgressStyle } from '../watch/progress-view.ts';
import { confirmOnTerminal } from './confirm.ts';
import type { CliContext } from './context.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { onInterrupt } from './interrupt.ts';
import { addSettings, toOptions } from './setting-options.ts';

/** What only the command line has. */
interface EnrichFlags {
  readonly dryRun?: boolean;
  readonly progress: ProgressStyle | 'auto';
  readonly json?: boolean;
}

/** Adds `brandfill enrich <input>`. */
export function addEnrichCommand(program: Command, context: CliContext): void {
  const command = program
    .command('enrich')
    .description('look up every domain of a list and write its rows back with what was learned')
    .argument('<input>', 'CSV, TSV or JSONL file, also .gz; - is standard input');
  addSettings(command, SETTINGS);
  command
    .option('--dry-run', 'read and count, show the plan, call nothing')
    .addOption(
      new Option('--progress <style>', 'how progress is shown, on standard error')
        .choices(['auto', 'bar', 'lines', 'none'])
        .default('auto'),
    )
    .option('--json', 'put the summary (or the plan) on standard output, as JSON')
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (input: string, options: EnrichFlags & Record<string, unknown>) => {
      const { dryRun = false, progress, json = false, ...given } = options;
      context.finish(await enrichFile(input, given, { dryRun, progress, json, context }));
    });
}

async function enrichFile(
  input: string,
  given: Readonly<Record<string, unknown>>,
  { dryRun, progress, json, context }: Required<EnrichFlags> & { readonly context: CliContext },
): Promise<number> {
  if (json && !dryRun && (given['out'] === '-' || (input === '-' && given['out'] === undefined))) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot put both the rows and --json on standard output: give --out a file.',
    );
  }
  // Loaded here, so that --help need not wait for it.
  const [{ enrich, plan }, { createConsoleView }] = await Promise.all([
    import('../index.ts'),
    import('../watch/console-view.ts'),
  ]);
  const view = createConsoleView({ stream: process.stderr, progress });
  const interrupt = onInterrupt((code) => {
    view.end();
    context.endAtOnce(code);
  });
  const options = {
    ...toOptions(given),
    input,
    signal: interrupt.signal,
    onEvent: view.show,
    confirm: confirmOnTerminal(interrupt.signal),
  } as EnrichOptions;
  try {
    const naming = flagOf;
    if (dryRun) {
      const planned = await plan(options, naming);
      if (json) process.stdout.write(`${JSON.stringify(planned)}\n`);
      return EXIT.ok;
    }
    const summary = await enrich(options, naming);
    view.finish(summary);
    if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
    return exitCodeOf(summary);
  } finally {
    view.end();
    interrupt.dispose();
  }
}

const EXIT_CODE_HELP = `  0    done, no row failed
  1    something unexpected
  2    a wrong option, or an input or output that cannot be used; no output was changed
  3    done, some rows failed
  4    stopped early; run the same command to go on
  130  interrupted; run the same command to go on`;
