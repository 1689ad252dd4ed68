import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunView } from '../../src/watch/run-view.ts';
import { type Child, runNode } from './child.ts';

/** One run of the command. */
export interface EnrichRun {
  /** The summary that it printed. */
  readonly summary: RunView;
  /** From the start of its process to its end, in milliseconds. */
  readonly elapsedMs: number;
}

export interface EnrichOptions {
  /** The built command. */
  readonly program: string;
  readonly url: string;
  readonly input: string;
  /** The folder of its store and its outputs. */
  readonly folder: string;
  /** @default the command's own default */
  readonly concurrency?: number;
  /** Continues with the store of an earlier run. @default false */
  readonly keepStore?: boolean;
  /** More flags. */
  readonly flags?: readonly string[];
  readonly onStart?: (child: Child) => void;
}

/**
 * Runs `brandfill enrich` in a process of its own.
 *
 * @throws Error when it fails, or when a row was not enriched: then its time means nothing
 */
export async function enrich(options: EnrichOptions): Promise<EnrichRun> {
  const {
    program,
    url,
    input,
    folder,
    concurrency,
    keepStore = false,
    flags = [],
    onStart,
  } = options;
  const store = join(folder, 'store');
  if (!keepStore) await rm(store, { recursive: true, force: true });
  const args = [program, 'enrich', input];
  args.push('--base-url', url, '--store', store);
  const extension = input.endsWith('.jsonl') ? 'jsonl' : 'csv';
  args.push('--out', join(folder, `out.${extension}`));
  args.push('--failures', join(folder, `failures.${extension}`));
  if (concurrency !== undefined) args.push('--concurrency', String(concurrency));
  const { stdout, elapsedMs } = await runNode([...args, ...flags, '--json'], onStart);
  const summary = JSON.parse(stdout) as RunView;
  if (summary.statuses.found !== summary.rows) {
    throw new Error(`Cannot measure: not every row was enriched: ${stdout}`);
  }
  return { summary, elapsedMs };
}
