import { Command, Option } from 'commander';
import { refusal } from '../common/errors.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { findNearest, shellWord } from '../common/text.ts';
import { readVersion } from '../version.ts';
import type { ProcessContext } from './commands/command.ts';
import { COMMANDS, EXAMPLES, EXIT_CODES, type ListedCommand } from './commands.ts';

/** The process that runs the command line. */
export interface CliContext extends ProcessContext {
  /** Notes the exit code; the process ends when the command returns. */
  readonly finish: (code: number) => void;
}

/** Builds the command line. Commands return or throw; the caller ends the process. */
export function createProgram(context: CliContext): Command {
  const program = new Command('brandfill')
    .description(
      'Enriches a list of company domains: every row in, one lookup per domain, every row out.',
    )
    .version(readVersion(), '-v, --version')
    .addOption(new Option('-V').hideHelp())
    .on('option:V', () => program.parse(['--version'], { from: 'user' }))
    .addHelpText('after', examplesOf(EXAMPLES))
    .showHelpAfterError('(see brandfill --help)')
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(withoutSecrets(text.replace(/^error: /, 'brandfill: '))),
    });
  for (const listed of COMMANDS) addCommand(program, listed, context);
  // Commander's own would show the help of a command whose options are not loaded.
  program
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'a command, such as store get')
    .description('display help for a command')
    .action(async (words: readonly string[]) => {
      refuseUnknown(program, words);
      await program.parseAsync([...words, '--help'], { from: 'user' });
    });
  return program;
}

function refuseUnknown(parent: Command, [word, ...others]: readonly string[]): void {
  if (word === undefined) return;
  const command = parent.commands.find((one) => one.name() === word);
  if (command) return refuseUnknown(command, others);
  const names = parent.commands.map((one) => one.name());
  const meant = findNearest(word, names);
  const hint = meant === undefined ? '' : `\n(Did you mean ${meant}?)`;
  parent.error(`error: unknown command '${word}'${hint}`);
}

function examplesOf(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  brandfill ${example}`).join('\n')}`;
}

function addCommand(
  program: Command,
  { name: called, argument, description, examples, load }: ListedCommand,
  context: CliContext,
): void {
  const [name = '', group] = called.split(' ').toReversed();
  const parent = program.commands.find((one) => one.name() === group) ?? program;
  const command = parent.command(name).description(description).helpCommand(false);
  command.showHelpAfterError(`(see brandfill ${called} --help)`);
  command.addHelpText('after', examplesOf(examples));
  if (!load) return;
  if (argument) command.argument(...argument);
  const codes = Object.entries(EXIT_CODES).map(([code, what]) => `  ${code.padEnd(5)}${what}`);
  command.addHelpText('after', `\nExit codes:\n${codes.join('\n')}`);
  parent.hook('preSubcommand', async (_, chosen) => {
    if (chosen !== command) return;
    const { addOptions } = await import('./options.ts');
    addOptions(command, (await load()).options, rawArgsOf(program));
  });
  command.action(async () => {
    const { args: words } = command;
    if (words.includes('')) {
      const message = `Cannot use ${argument?.[0]}: expected ${argument?.[1]}, received ''.`;
      throw refusal(message);
    }
    const raw = rawArgsOf(program);
    const given = raw.slice(raw.indexOf(parent === program ? name : parent.name()));
    const line = ['brandfill', ...given].map(shellWord).join(' ');
    const typed = { name: called, words, line, typed: command.opts(), context };
    context.finish(await (await load()).run(typed));
  });
}

/** What was typed, perhaps behind the program and its file. */
function rawArgsOf(program: Command): readonly string[] {
  const { rawArgs = [] } = program as Command & { readonly rawArgs?: readonly string[] };
  return rawArgs;
}
