#!/usr/bin/env node
import { CommanderError } from 'commander';
import { EXIT } from './exit-codes.ts';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';

/** The only place that ends the process. */
async function main(): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = createProgram({
    finish: (code) => {
      exitCode = code;
    },
    endAtOnce: (code) => process.exit(code),
  });
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong, or has shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return await reportError(error);
  }
}

// Nobody listening to what we say is no reason to stop working.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exit(await main());
