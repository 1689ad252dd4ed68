import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startNode } from './child.ts';

export interface WorkerOptions {
  /** The built command. */
  readonly program: string;
  /** The API. */
  readonly url: string;
  readonly queueUrl: string;
  readonly concurrency: number;
}

/** A `brandfill worker` in a process of its own. */
export interface BenchWorker {
  /** Kills it, as a power failure would. */
  kill(): Promise<void>;
  /** Tells it to stop, and waits for its end. */
  stop(): Promise<void>;
}

/** Starts a worker and resolves when it waits for lookups. */
export async function startWorker(options: WorkerOptions): Promise<BenchWorker> {
  const { program, url, queueUrl, concurrency } = options;
  const args = ['worker', '--queue', queueUrl, '--base-url', url];
  const child = startNode([program, ...args, '--concurrency', String(concurrency)]);
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes('Waiting for lookups')) break;
  }
  if (child.exitCode !== null) throw new Error('Cannot measure: the worker ended');
  child.stderr.resume();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  return { kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}
