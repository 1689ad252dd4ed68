import { Command } from 'commander';
import type { ProcessContext } from '../commands/command.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { readVersion } from '../version.ts';
import { COMMANDS, type Command as Declared, EXIT_CODES, GROUPS, type Typed } from './commands.ts';

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
  const declaredOf = new Map<Command, Declared>();
  for (const declared of COMMANDS) {
    const [name = '', group] = declared.name.split(' ').toReversed();
    let parent = group === undefined ? program : groups.get(group);
    if (parent === undefined && group !== undefined) {
      parent = program.command(group).description(GROUPS[group] ?? '');
      groups.set(group, parent);
    }
    const command = parent?.command(name);
    if (!command) continue;
    addCommand(command, declared, context);
    declaredOf.set(command, declared);
  }
  for (const parent of [program, ...groups.values()]) {
    parent.hook('preSubcommand', async (_, chosen) => {
      const declared = declaredOf.get(chosen);
      if (!declared) return;
      const { addOptions } = await import('./options.ts');
      addOptions(chosen, declared);
    });
  }
  addHelpHints(program, program.name());
  return program;
}

function addCommand(command: Command, declared: Declared, context: CliContext): void {
  const { argument, description } = declared;
  command.description(description);
  if (argument) command.argument(...argument);
  const codes = Object.entries(EXIT_CODES).map(([code, what]) => `  ${code.padEnd(5)}${what}`);
  command.addHelpText('after', `\nExit codes:\n${codes.join('\n')}`);
  command.action(async (...typed: readonly unknown[]) => {
    const words = argument ? ([typed[0]].flat() as readonly string[]) : [];
    context.finish(await declared.run(words, typed[argument ? 1 : 0] as Typed, context));
  });
}

/**
 * Makes each command point to its own help after a mistake: the help of the program has no options.
 */
function addHelpHints(command: Command, called: string): void {
  command.showHelpAfterError(`(see ${called} --help)`);
  for (const child of command.commands) addHelpHints(child, `${called} ${child.name()}`);
}
