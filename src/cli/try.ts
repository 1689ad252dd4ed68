import type { Command } from 'commander';
import { printable } from '../common/printable.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { exitCodeOf } from '../exit-codes.ts';
import type { Trial, TryOptions } from '../index.ts';
import { TRY_SETTINGS } from '../job/commands/try-settings.ts';
import { flagOf } from '../job/read-settings.ts';
import type { RunEvent } from '../watch/events.ts';
import { createStatusCounts } from '../watch/summary.ts';
import type { CliContext } from './context.ts';
import { onInterrupt } from './interrupt.ts';
import { addSettings, toOptions } from './setting-options.ts';

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
  addSettings(command, TRY_SETTINGS);
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
  const { tryDomain } = await import('../try.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const say = (line: string): void => {
    process.stderr.write(`${printable(withoutSecrets(line))}\n`);
  };
  const options: TryOptions = { ...toOptions(given), domain };
  const { signal } = interrupt;
  try {
    const trial = await tryDomain({ ...options, signal, onEvent: tellerOf(say) }, flagOf);
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
    '../watch/describe/describe-trial.ts'
  );
  const { printableLines } = await import('../common/printable.ts');
  const described = { ...rest, nowMs: Date.now() };
  if (rest.explain && !json) describeAnswers(trial).forEach(say);
  const print = (lines: readonly string[]): void => {
    process.stdout.write(`${lines.join('\n')}\n`);
  };
  if (preset || (json && !trial.answer)) describeEnd(trial, described).forEach(say);
  if (preset && trial.answer) {
    const { formatPreset } = await import('../job/job-file/format-preset.ts');
    process.stdout.write(formatPreset(trial, rest.prefix));
  } else if (json) print([printableLines(JSON.stringify(trial))]);
  else if (!preset) print(describeTrial(trial, described));
}

/** Reports the events that are worth knowing while somebody waits. */
function tellerOf(say: (line: string) => void): (event: RunEvent) => void {
  let isQuiet = false;
  return (event) => {
    if (event.type === 'notice') say(`Note: ${event.message}`);
    if (event.type === 'stopping') isQuiet = true;
    if (event.type !== 'progress' || isQuiet || event.throttled === 0) return;
    isQuiet = true;
    say('Note: The API answers 429 (slow down): waiting until it lets calls through again.');
  };
}

const EXIT_CODE_HELP = `  0    the API answered, even if it knows no such brand
  1    unexpected error
  2    invalid option, or no domain
  3    the lookup failed
  4    no outcome: credential refused, quota used up, or signs of a wrong address
  130  interrupted`;
