import { Command } from 'commander';
import { withoutSecrets } from '../common/secrets.ts';
import { readVersion } from '../version.ts';
import { addApiCommand } from './api.ts';
import { addAppCommand } from './app.ts';
import type { CliContext } from './command.ts';
import { addEnrichCommand, addRunCommand, addTryCommand } from './enrich.ts';
import {
  addAddCommand,
  addCollectCommand,
  addDashboardCommand,
  addWorkerCommand,
} from './queue-commands.ts';
import { addSandboxCommand } from './sandbox.ts';
import { addScheduleCommand } from './schedule.ts';
import { addStoreCommand } from './store.ts';

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
  addAppCommand(program, context);
  addEnrichCommand(program, context);
  addRunCommand(program, context);
  addScheduleCommand(program, context);
  addTryCommand(program, context);
  addWorkerCommand(program, context);
  addAddCommand(program, context);
  addCollectCommand(program, context);
  addDashboardCommand(program, context);
  addStoreCommand(program, context);
  addApiCommand(program);
  addSandboxCommand(program, context);
  addHelpHints(program, program.name());
  return program;
}

/**
 * Makes each command point to its own help after a mistake: the help of the program has no options.
 */
function addHelpHints(command: Command, called: string): void {
  command.showHelpAfterError(`(see ${called} --help)`);
  for (const child of command.commands) addHelpHints(child, `${called} ${child.name()}`);
}
