import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { programArgs, startNode } from './child.ts';

/** An API in a process of its own. */
export interface Server {
  readonly url: string;
  /** How many calls it has seen. */
  calls(): Promise<number>;
  close(): Promise<void>;
}

export interface ServerOptions extends SandboxOptions {
  /** Answers of five short fields instead of the sandbox's nineteen columns. @default false */
  readonly fewFields?: boolean;
}

/** Starts the sandbox and waits until it answers. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const child = startNode(programArgs('serve.ts', [JSON.stringify(options)]));
  child.stderr.pipe(process.stderr);
  const ended = once(child, 'exit');
  const firstLine = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const ready = await Promise.race([firstLine, ended.then(() => undefined)]);
  if (!ready) throw new Error('Cannot measure: the server ended before it was ready');
  return {
    url: ready[0],
    calls: async () => {
      const response = await fetch(`${ready[0]}/stats`);
      return ((await response.json()) as { calls: number }).calls;
    },
    close: async () => {
      child.kill();
      await ended;
    },
  };
}
