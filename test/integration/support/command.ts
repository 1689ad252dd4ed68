import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { onTestFinished } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { reportError } from '../../../src/cli/report-error.ts';
import { EXIT } from '../../../src/common/errors.ts';
import { forgetSecrets, keepSecret } from '../../../src/common/secrets.ts';
import type { RunView } from '../../../src/index.ts';
import type { Log } from '../../../src/watch/log.ts';
import { builtCommand } from './build.ts';
import { inContainer, withEtc } from './containers.ts';
import type { Folder } from './folder.ts';

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What comes in at standard input; nothing unless given. */
  readonly stdin?: string | Buffer;
  /** The main file of another build. */
  readonly main?: string;
  /** The host name of a container of its own for it. @default none */
  readonly container?: string;
  /** A folder with files that stand in for those of `/etc`. @default none */
  readonly etc?: string;
  /** A limit of its shell, such as `-f 1000` for the blocks of a file. @default none */
  readonly ulimit?: string;
}

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that was started. */
export interface Started {
  readonly ended: Promise<Ended>;
  /**
   * Resolves with standard error so far when a text is in it; rejects when the command ends
   * without.
   */
  shows(text: string): Promise<string>;
  /** Sends it a signal, SIGTERM unless given, and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** A command in a process of its own; it is killed when the test ends. */
export interface Running extends Started {
  readonly process: ChildProcess;
}

/**
 * The parser of HTTP is not compiled a second time, for speed that no short run gets anything of:
 * that is a fifth of what the run takes, and there are hundreds of them.
 */
const COMPILED_ONCE = '--wasm-tiering-budget=1000000000';

/** Starts the real command as a process of its own. */
export async function start(args: readonly string[], options: CommandOptions): Promise<Running> {
  const main = options.main ?? builtCommand();
  const plain = [process.execPath, COMPILED_ONCE, main, ...args];
  const { container } = options;
  const limited =
    options.ulimit === undefined
      ? plain
      : ['sh', '-c', `ulimit ${options.ulimit}; exec "$@"`, 'sh', ...plain];
  const placed = options.etc === undefined ? limited : withEtc(options.etc, limited);
  const [file = '', ...rest] = container === undefined ? placed : inContainer(container, placed);
  const temporary = mkdtempSync(join(tmpdir(), 'c-'));
  const child = spawn(file, rest, {
    cwd: options.cwd,
    env: { ...ENVIRONMENT, TMPDIR: temporary, ...options.env },
    stdio: 'pipe',
  });
  const exited = once(child, 'exit').catch(() => {}); // it could not be started
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
    // A command that is killed can remove nothing. From others nothing is to be left.
    const isKilled = child.signalCode === 'SIGKILL';
    if (isKilled) rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
    else if (readdirSync(temporary).length === 0) rmdirSync(temporary);
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  child.stdin.on('error', () => {}); // a command that refuses its options does not read
  if (options.stdin !== undefined) child.stdin.end(options.stdin);
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    ...output,
  }));
  return {
    process: child,
    ended,
    shows: createShows(output, child.stderr, child),
    stop: async (signal) => {
      child.kill(signal);
      return await ended;
    },
  };
}

/** Looks at an output whenever there is more of it, until it is closed. */
function createShows(
  output: { readonly stderr: string },
  more: EventEmitter,
  closed: EventEmitter,
): Started['shows'] {
  return (text) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (output.stderr.includes(text)) resolve(output.stderr);
      };
      more.on('data', look);
      closed.once('close', () => reject(new Error(`'${text}' was not shown: ${output.stderr}`)));
      look();
    });
}

/** Starts the real command to enrich the `list.csv` of a folder with an API. */
export function startEnrich(
  { path }: Folder,
  baseUrl: string,
  ...flags: readonly string[]
): Promise<Running> {
  return start(['enrich', 'list.csv', '--base-url', baseUrl, ...flags], { cwd: path });
}

/** Runs the real command to its end. */
export async function run(args: readonly string[], options: CommandOptions): Promise<Ended> {
  const running = await start(args, { stdin: '', ...options });
  return await running.ended;
}

/** The summary that `--json` put on standard output. */
export function summaryOf({ stdout }: Ended): RunView {
  return JSON.parse(stdout) as RunView;
}

/** The surroundings without anything that would change what the command does. */
export const ENVIRONMENT: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(BRANDFILL_|NODE_|VITEST|https?_proxy$|no_proxy$)/i.test(name),
  ),
);

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
 * Starts the command line in this process, with an environment, output and signals of its own; it
 * is stopped when the test ends. Commands at the same time have to be in one folder. What has to do
 * with standard input, being killed, or the end of a process needs the real command.
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
