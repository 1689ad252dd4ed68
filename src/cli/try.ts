import type { Command } from 'commander';
import { withoutSecrets } from '../common/secrets.ts';
import { printable } from '../common/text.ts';
import type { Trial, TryOptions } from '../index.ts';
import { TRY_OPTIONS } from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import type { RunEvent } from '../watch/events.ts';
import { createStatusCounts, exitCodeOf } from '../watch/summary.ts';
import { addSettings, type CliContext, onInterrupt } from './command.ts';

/** Flags that only the command line has. */
interface TryFlags {
  readonly json?: boolean;
  readonly preset?: boolean;
  readonly explain?: boolean;
}

/** Adds `brandfill try <domain>`. */
export function addTryCommand(program: Command, context: CliContext): void {
  const command = program
    .command('try')
    .description('look up one domain; show the answer and the columns made from it')
    .argument('<domain>', 'a domain, or anything that a cell of a list may hold');
  addSettings(command, TRY_OPTIONS);
  command
    .option('--preset', 'print the columns to standard output as a file for --fields @FILE')
    .option('--explain', 'say what each answer means, and which rule of the profile decided')
    .option('--json', 'print everything to standard output as JSON')
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (domain: string, typed: TryFlags & Record<string, unknown>) => {
      context.finish(await tryOne(domain, typed, context));
    });
}

async function tryOne(
  domain: string,
  { json = false, preset = false, explain = false, ...given }: TryFlags & Record<string, unknown>,
  context: CliContext,
): Promise<number> {
  const { tryDomain } = await import('../commands/try.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const say = (line: string): void => {
    process.stderr.write(`${printable(withoutSecrets(line))}\n`);
  };
  const options: TryOptions = { ...toOptions(given), domain };
  const { signal } = interrupt;
  try {
    const trial = await tryDomain({ ...options, signal, onEvent: reporterOf(say) }, flagOf);
    const shown = { json, preset, explain, hasFields: given['fields'] !== undefined, text: domain };
    const { stopped } = trial;
    await show(trial, { ...shown, prefix: given['prefix'] as string | undefined, say });
    return exitCodeOf({ stopped, statuses: { ...createStatusCounts(), [trial.status]: 1 } });
  } finally {
    interrupt.dispose();
  }
}

interface ShowOptions extends Required<TryFlags> {
  readonly text: string;
  readonly hasFields: boolean;
  readonly prefix: string | undefined;
  readonly say: (line: string) => void;
}

async function show(trial: Trial, options: ShowOptions): Promise<void> {
  const { json, preset, say, ...rest } = options;
  const { describeAnswers, describeEnd, describeTrial } = await import(
    '../watch/describe-trial.ts'
  );
  const { printableLines } = await import('../common/text.ts');
  const described = { ...rest, nowMs: Date.now() };
  if (rest.explain && !json) describeAnswers(trial).forEach(say);
  const print = (lines: readonly string[]): void => {
    process.stdout.write(`${lines.join('\n')}\n`);
  };
  if (preset || (json && !trial.answer)) describeEnd(trial, described).forEach(say);
  if (preset && trial.answer) {
    const { formatPreset } = await import('../options/yaml-files.ts');
    process.stdout.write(formatPreset(trial, rest.prefix ?? TRY_OPTIONS.prefix.default));
  } else if (json) print([printableLines(JSON.stringify(trial))]);
  else if (!preset) print(describeTrial(trial, described));
}

/** Reports the events that are worth knowing while somebody waits. */
function reporterOf(say: (line: string) => void): (event: RunEvent) => void {
  let isQuiet = false;
  return (event) => {
    if (event.type === 'notice') say(`Note: ${event.message}`);
    if (event.type === 'stopping') isQuiet = true;
    if (event.type !== 'progress' || isQuiet || event.throttled === 0) return;
    isQuiet = true;
    say(
      'Note: The API throttles calls (429 and the like): waiting until it lets calls through again.',
    );
  };
}

const EXIT_CODE_HELP = `  0    the API answered, even if it knows no such brand
  1    unexpected error
  2    invalid option, or no domain
  3    the lookup failed
  4    no outcome: credential refused, quota used up, or signs of a wrong address
  130  interrupted`;
