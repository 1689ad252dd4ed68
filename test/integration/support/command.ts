import { type ChildProcess, spawn } from 'node:child_process';
import { type EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RunView } from '../../../src/index.ts';
import { builtCommand } from './build.ts';
import { inContainer, withEtc } from './containers.ts';

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
  /** Resolves with standard error so far when a text is in it; rejects when the command ends without. */
  shows(text: string): Promise<string>;
  /** Sends it a signal, SIGTERM unless given, and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** A command in a process of its own; it is killed when the test ends. */
export interface Running extends Started {
  readonly process: ChildProcess;
}

/**
 * The parser of HTTP is not compiled a second time, for speed that no short run gets anything of: that is
 * a fifth of what the run takes, and there are hundreds of them.
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
export function createShows(
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
