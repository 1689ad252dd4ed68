import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Arguments of Node.js that make a process note its CPU time. */
export const CPU_RECORDER: readonly string[] = [
  '--import',
  pathToFileURL(join(import.meta.dirname, 'cpu-recorder.mjs')).href,
];

/** The environment that says where to write the notes. */
export function cpuFile(path: string): NodeJS.ProcessEnv {
  return { BENCH_CPU_FILE: path };
}

/**
 * Reads how much CPU time a process took between two moments, in milliseconds.
 *
 * @param path the file with its notes
 * @throws RangeError when there are no notes of that time
 */
export async function readCpuMs(path: string, fromMs: number, toMs: number): Promise<number> {
  const samples = JSON.parse(await readFile(path, 'utf8')) as readonly (readonly [
    number,
    number,
  ])[];
  const within = samples.filter(([atMs]) => atMs >= fromMs && atMs <= toMs);
  const [first, last] = [within[0], within.at(-1)];
  if (!first || !last || first === last) throw new RangeError('Expected CPU times, got none');
  // Notes begin and end a moment later than the period.
  return ((last[1] - first[1]) / (last[0] - first[0])) * (toMs - fromMs);
}
