import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { CommanderError } from 'commander';
import { onTestFinished } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { reportError } from '../../../src/cli/report-error.ts';
import { EXIT } from '../../../src/common/errors.ts';
import { forgetSecrets, keepSecret } from '../../../src/common/secrets.ts';
import type { Log } from '../../../src/watch/log.ts';
import {
  type CommandOptions,
  createShows,
  ENVIRONMENT,
  type Ended,
  type Started,
} from './command.ts';
import type { Folder } from './folder.ts';

/** What a command in this process has instead of the process's own. */
interface Place {
  readonly env: NodeJS.ProcessEnv;
  readonly output: { stdout: string; stderr: string };
  /** Says when something was written, and when it has ended. */
  readonly written: EventEmitter<{ data: []; close: [] }>;
  /** Who listens to signals. */
  readonly signals: EventEmitter;
}

const places = new AsyncLocalStorage<Place>();
const commands = new Set<Place>();
const folder = process.cwd();

/**
 * Starts the command line in this process, with an environment, output and signals of its own; it is
 * stopped when the test ends. Commands at the same time have to be in one folder. What has to do with
 * standard input, being killed, or the end of a process needs the real command.
 */
export function startHere(
  args: readonly string[],
  { cwd, env = {} }: Pick<CommandOptions, 'cwd' | 'env'>,
): Started {
  if (commands.size === 0) {
    process.chdir(cwd);
    forgetSecrets(); // one that comes later in a process has to be left out as well
  } else if (process.cwd() !== cwd) throw new Error('This process has one folder at a time.');
  const place: Place = {
    env: { ...ENVIRONMENT, ...env },
    output: { stdout: '', stderr: '' },
    written: new EventEmitter(),
    signals: new EventEmitter(),
  };
  const { output, written, signals } = place;
  commands.add(place);
  const ended = places.run(place, runProgram, args).then((code): Ended => {
    commands.delete(place);
    if (commands.size === 0) process.chdir(folder);
    written.emit('close');
    return { code, signal: null, ...output };
  });
  const stop: Started['stop'] = async (signal = 'SIGTERM') => {
    places.run(place, () => signals.emit(signal));
    return await ended;
  };
  onTestFinished(async () => void (await stop()));
  return { ended, shows: createShows(output, written, written), stop };
}

/** Runs the command line to its end in this process, as `startHere` starts it. */
export async function runHere(
  args: readonly string[],
  options: Pick<CommandOptions, 'cwd' | 'env'>,
): Promise<Ended> {
  return await startHere(args, options).ended;
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

// What a command takes from its process is its own, in all that it begins.
const environment = process.env;
Object.defineProperty(process, 'env', { get: () => places.getStore()?.env ?? environment });
for (const name of ['stdout', 'stderr'] as const) {
  const write = process[name].write.bind(process[name]);
  process[name].write = (text: string | Uint8Array, ...rest: unknown[]) => {
    const place = places.getStore();
    if (!place) return write(text, ...(rest as []));
    place.output[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
    place.written.emit('data');
    for (const callback of rest) if (typeof callback === 'function') callback();
    return true;
  };
}
for (const method of ['on', 'off'] as const) {
  const own = process[method].bind(process);
  const listen = (event: string, listener: () => void): NodeJS.Process => {
    const signals = event.startsWith('SIG') ? places.getStore()?.signals : undefined;
    signals?.[method](event, listener);
    return signals ? process : own(event, listener);
  };
  Object.assign(process, { [method]: listen });
}
