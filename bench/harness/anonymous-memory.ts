import { readFileSync } from 'node:fs';
import type { Child } from './child.ts';

const SAMPLE_MS = 100;
const KIB = 1_024;

/** Whether this system reports how much memory of a process is its own. Only Linux does. */
export function canWatchMemory(): boolean {
  return process.platform === 'linux';
}

/**
 * Watches a process until it ends.
 *
 * Memory of mapped files, such as the store's, is not counted: the system takes it back whenever it
 * likes.
 *
 * @returns a function that gives the peak of its anonymous memory so far, in bytes
 */
export function watchMemory(child: Child): () => number {
  let peakBytes = 0;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, anonymousBytes(child.pid));
  }, SAMPLE_MS);
  child.once('exit', () => clearInterval(timer));
  return () => peakBytes;
}

/** 0 for a process that has just ended. */
function anonymousBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * KIB;
  } catch {
    return 0;
  }
}
