import { Command } from 'commander';
import type { ProcessContext } from '../commands/command.ts';
import { BrandfillError } from '../common/errors.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { readVersion } from '../version.ts';
import { COMMANDS, EXIT_CODES, GROUPS, type ListedCommand } from './commands.ts';

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
    .version(readVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(withoutSecrets(text.replace(/^error: /, 'brandfill: '))),
    });
  const groups = new Map<string, Command>();
  const listedOf = new Map<Command, ListedCommand>();
  for (const listed of COMMANDS) {
    const [name = '', group] = listed.name.split(' ').toReversed();
    let parent = group === undefined ? program : groups.get(group);
    if (parent === undefined && group !== undefined) {
      parent = program
        .command(group)
        .description(GROUPS[group] ?? '')
        .helpCommand(false);
      groups.set(group, parent);
    }
    const command = parent?.command(name);
    if (!command) continue;
    addCommand(command, listed, context);
    listedOf.set(command, listed);
  }
  for (const parent of [program, ...groups.values()]) {
    parent.hook('preSubcommand', async (_, chosen) => {
      const listed = listedOf.get(chosen);
      if (!listed) return;
      const { addOptions } = await import('./options.ts');
      addOptions(chosen, (await listed.load()).options);
    });
  }
  // Commander's own would show the help of a command whose options are not loaded.
  program
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'a command, such as store get')
    .description('display help for a command')
    .action(async (words: readonly string[]) => {
      await program.parseAsync([...words, '--help'], { from: 'user' });
    });
  addHelpHints(program, program.name());
  return program;
}

function addCommand(command: Command, listed: ListedCommand, context: CliContext): void {
  const { name, argument, description, load } = listed;
  command.description(description);
  if (argument) command.argument(...argument);
  const codes = Object.entries(EXIT_CODES).map(([code, what]) => `  ${code.padEnd(5)}${what}`);
  command.addHelpText('after', `\nExit codes:\n${codes.join('\n')}`);
  command.action(async (...given: readonly unknown[]) => {
    const words = argument ? ([given[0]].flat() as readonly string[]) : [];
    const typed = given[argument ? 1 : 0] as Record<string, unknown>;
    if (words.includes('')) {
      const message = `Cannot use ${argument?.[0]}: expected ${argument?.[1]}, received ''.`;
      throw new BrandfillError('INVALID_SETTING', message);
    }
    context.finish(await (await load()).run(name, { words, typed, context }));
  });
}

/**
 * Makes each command point to its own help after a mistake: the help of the program has no options.
 */
function addHelpHints(command: Command, called: string): void {
  command.showHelpAfterError(`(see ${called} --help)`);
  for (const child of command.commands) addHelpHints(child, `${called} ${child.name()}`);
}
