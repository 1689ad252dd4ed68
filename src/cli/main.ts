#!/usr/bin/env node
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { EXIT, systemErrorCode, unwritableStandardOutput } from '../common/errors.ts';
import { readyToEnd } from '../common/lifetime.ts';
import { keepSecret } from '../common/secrets.ts';
import type { Log } from '../watch/log.ts';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';

/** The log that errors are written to, once a command has opened one. */
let log: Log | undefined;

/** The only place that ends the process. */
async function main(): Promise<number> {
  let exitCode: number = EXIT.ok;
  // Must come before anything is read and refused, since that may contain the credential by
  // mistake.
  keepSecret(process.env['BRANDFILL_API_KEY']?.trim());
  const program = createProgram({
    finish: (code) => {
      exitCode = code;
    },
    endAtOnce: (code) => void endAtOnce(code),
    reportTo: (opened) => {
      log = opened;
    },
  });
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has printed the error, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(error, log);
  }
}

async function endAtOnce(code: number): Promise<void> {
  await readyToEnd();
  process.exit(code);
}

/**
 * Ignores a signal that comes when a command has ended by itself, since it would replace the
 * command's exit code. A second signal of the same kind ends the process, should it hang.
 */
function letLateSignalPass(): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => {});
}

// When the disk is full, lmdb prints errors, each with a stack. When a Redis user may not run INFO,
// ioredis warns of each connection. The code that waits for either reports what matters of it.
console.error = console.warn = () => {}; // oxlint-disable-line no-console -- nobody else uses them
process.on('unhandledRejection', (error) => {
  void endAtOnce(reportError(error, log));
});

// Of a name with several addresses, Node.js gives up the first after 250 ms, too little for a
// server far away. Calls to the API set their own; ioredis has no option for it, and waits 5 s at
// least.
setDefaultAutoSelectFamilyAttemptTimeout(2_000);

// A closed reader (EPIPE) is no reason to stop working. Any other error means that output
// redirected to a file is incomplete, which has to be reported.
let unwritable: Error | undefined;
process.stderr.on('error', () => {});
process.stdout.on('error', (error) => {
  if (systemErrorCode(error) !== 'EPIPE') unwritable ??= error;
});

const exitCode = await main();
letLateSignalPass();
await immediate(); // errors of streams come a little later
process.exit(
  unwritable ? exitCode || reportError(unwritableStandardOutput(unwritable), log) : exitCode,
);
