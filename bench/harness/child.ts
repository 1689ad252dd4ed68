import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** A process whose outputs can be read. */
export type Child = ChildProcessByStdio<null, Readable, Readable>;

/** How a process ended. */
export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** From its start to its end, in milliseconds. */
  readonly elapsedMs: number;
}

const RUNNING = new Set<Child>();

/**
 * Starts Node.js with arguments. A process that still runs when this one ends is ended with it.
 *
 * @param env variables beside those of this process
 */
export function startNode(args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  RUNNING.add(child);
  child.once('exit', () => RUNNING.delete(child));
  return child;
}

/** Ends every process that was started here and still runs. */
export function endChildren(): void {
  for (const child of RUNNING) child.kill();
}

/**
 * Runs Node.js with arguments until it ends.
 *
 * @param onStart called with its process, so that it can be watched
 * @param env variables beside those of this process
 * @throws Error with its output on standard error, when its exit code is not 0
 */
export async function runNode(
  args: readonly string[],
  onStart: (child: Child) => void = () => {},
  env: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  const startMs = performance.now();
  const child = startNode(args, env);
  onStart(child);
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  const elapsedMs = performance.now() - startMs;
  if (exitCode !== 0) {
    throw new Error(`Cannot measure: ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
  }
  return { exitCode, stdout, elapsedMs };
}

/** Arguments that make Node.js run a program of this folder. */
export function programArgs(name: string, args: readonly string[]): readonly string[] {
  return ['--import', 'tsx', join(import.meta.dirname, '..', name), ...args];
}

/** Runs a program of this folder that prints its own time, and returns that, in milliseconds. */
export async function timeProgram(name: string, args: readonly string[]): Promise<number> {
  const { stdout } = await runNode(programArgs(name, args));
  return (JSON.parse(stdout) as { elapsedMs: number }).elapsedMs;
}
