import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 20;

/**
 * Watches a process until it ends.
 *
 * @returns what the memory that is its own came to at most so far, in bytes; 0 where the system
 *   does not tell
 */
export function watchOwnMemory(child: ChildProcess): () => number {
  let peakBytes = 0;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, ownBytes(child.pid));
  }, LOOK_EVERY_MS);
  child.once('exit', () => clearInterval(timer));
  return () => peakBytes;
}

function ownBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    return 0; // it has just ended, or this is no Linux
  }
}
