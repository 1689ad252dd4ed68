import { CommanderError } from 'commander';
import { vi } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { reportError } from '../../../src/cli/report-error.ts';
import { EXIT } from '../../../src/common/errors.ts';
import { keepSecret } from '../../../src/common/secrets.ts';
import type { Log } from '../../../src/watch/log.ts';
import { type CommandOptions, ENVIRONMENT, type Ended } from './command.ts';
import type { Folder } from './folder.ts';

let isBusy = false;

/**
 * Runs the command line to its end in this process, in a folder and with an environment of its own.
 * For tests of many cases, where starting a process for each would take longer than all else. What
 * has to do with standard input, signals or two runs at once needs the real command; and so do secrets
 * that must not be told, since a process leaves out all that it was ever given.
 */
export async function runHere(
  args: readonly string[],
  { cwd, env = {} }: Pick<CommandOptions, 'cwd' | 'env'>,
): Promise<Ended> {
  if (isBusy) throw new Error('One command at a time: this process has one folder.');
  isBusy = true;
  const output = { stdout: '', stderr: '' };
  const captures = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text, ...rest: unknown[]) => {
      output[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
      for (const callback of rest) if (typeof callback === 'function') callback();
      return true;
    }),
  );
  const [folder, variables] = [process.cwd(), process.env];
  process.chdir(cwd);
  process.env = { ...ENVIRONMENT, ...env };
  try {
    return { code: await runProgram(args), signal: null, ...output };
  } finally {
    process.chdir(folder);
    process.env = variables;
    for (const capture of captures) capture.mockRestore();
    isBusy = false;
  }
}

/** Enriches the `list.csv` of a folder with an API, by the command line in this process. */
export function enrichHere(
  { path }: Folder,
  baseUrl: string,
  ...flags: readonly string[]
): Promise<Ended> {
  return runHere(['enrich', 'list.csv', '--base-url', baseUrl, ...flags], { cwd: path });
}

/** As the main file of the command does. */
async function runProgram(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  let log: Log | undefined;
  keepSecret(process.env['BRANDFILL_API_KEY']?.trim());
  const end = (code: number): void => {
    exitCode = code;
  };
  const program = createProgram({
    finish: end,
    endAtOnce: end,
    reportTo: (opened) => {
      log = opened;
    },
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(error, log);
  }
}
