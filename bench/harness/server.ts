import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { SandboxStats } from '../../src/sandbox/call-counter.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { programArgs, startNode } from './child.ts';

/** An API in a process of its own. */
export interface Server {
  readonly url: string;
  /** How many calls it has seen. */
  calls(): Promise<number>;
  /** When the first and the last call came, in milliseconds since 1970. */
  busy(): Promise<{ readonly fromMs: number; readonly toMs: number }>;
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
  const stats = async (): Promise<SandboxStats> =>
    (await (await fetch(`${ready[0]}/stats`)).json()) as SandboxStats;
  return {
    url: ready[0],
    calls: async () => (await stats()).calls,
    busy: async () => {
      const { firstCallAt, lastCallAt } = await stats();
      return { fromMs: Date.parse(firstCallAt ?? ''), toMs: Date.parse(lastCallAt ?? '') };
    },
    close: async () => {
      child.kill();
      await ended;
    },
  };
}
