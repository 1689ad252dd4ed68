import type { Command } from 'commander';
import type { AddOptions, AddSummary } from '../commands/add.ts';
import { EXIT } from '../common/exit-codes.ts';
import { countOf, formatCount } from '../common/format.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { printable } from '../common/text.ts';
import { ADD_OPTIONS } from '../options/command-options.ts';
import { toOptions } from '../options/options.ts';
import { addSettings, type CliContext, flagOrArgument, onInterrupt } from './command.ts';

/** Flags that only the command line has. */
interface AddFlags {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Adds `brandfill add <input>`. */
export function addAddCommand(program: Command, context: CliContext): void {
  const command = program
    .command('add')
    .description('put the domains of a list on a queue; brandfill collect receives the outcomes')
    .argument(
      '<input>',
      'XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    );
  addSettings(command, ADD_OPTIONS);
  command
    .option('--dry-run', 'read and count only; add nothing')
    .option('--json', 'print the counts to standard output as JSON')
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (input: string, options: AddFlags & Record<string, unknown>) => {
      const { dryRun = false, json = false, ...given } = options;
      context.finish(await runAdd(input, given, { dryRun, json, context }));
    });
}

async function runAdd(
  input: string,
  given: Readonly<Record<string, unknown>>,
  { dryRun, json, context }: Required<AddFlags> & { readonly context: CliContext },
): Promise<number> {
  const { add } = await import('../commands/add.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const say = (message: string): void => {
    process.stderr.write(`${printable(withoutSecrets(message))}\n`);
  };
  const { signal } = interrupt;
  const options = { ...toOptions(given), input, dryRun, signal, onNotice: say } as AddOptions;
  try {
    const summary = await add(options, flagOrArgument);
    describe(summary, dryRun).forEach(say);
    if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
    if (summary.isInterrupted) return EXIT.interrupted;
    // As for a run that finds nothing: a list of nothing but invalid rows is hardly the one that was meant.
    return summary.rows > 0 && summary.uniqueDomains === 0 ? EXIT.someFailed : EXIT.ok;
  } finally {
    interrupt.dispose();
  }
}

function describe(summary: AddSummary, isDryRun: boolean): readonly string[] {
  const { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid } = summary;
  const { lookups, alreadyWaiting, notAdded, ref } = summary;
  const unshown = invalidRows - firstInvalid.length;
  const lines = [
    ...firstInvalid.map(
      ({ row, sheetRow, line, reason, cell }) =>
        `${sheetRow === undefined ? `Row ${formatCount(row)}${line === undefined ? '' : ` in line ${line}`}` : `Sheet row ${sheetRow}`} has no domain (${reason})${cell === '' ? '' : `: '${cell}'`}`,
    ),
    unshown > 0 && `${formatCount(unshown)} more without a domain`,
    `${countOf(rows, 'row')}: ${countOf(uniqueDomains, 'domain')}, ${formatCount(duplicateRows)} repeated, ${formatCount(invalidRows)} invalid`,
    isDryRun
      ? `${countOf(lookups, 'lookup')} would be put on the queue.`
      : `${countOf(lookups, 'lookup')} put on the queue, with the reference '${ref}'.`,
    alreadyWaiting > 0 &&
      `${formatCount(alreadyWaiting)} waited there already and were not added twice.`,
    notAdded > 0 &&
      `Interrupted: ${formatCount(notAdded)} were not added; run the same command again to add them.`,
  ];
  return lines.filter((line) => line !== false);
}

const EXIT_CODE_HELP = `  0    done
  1    unexpected error
  2    invalid option, or a list or queue that cannot be used; nothing was added
  3    no row has a domain; nothing was added
  130  interrupted; run the same command to add the rest`;
