import { readFileSync } from 'node:fs';
import { systemErrorCode } from './errors.ts';

/**
 * Whether a process of this machine runs; also one of another user, which takes no signals from us. One
 * that has ended counts as such before its parent has taken note of that, which in containers may be
 * never.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemErrorCode(error) === 'ESRCH') return false;
  }
  return !ENDED.has(statOf(pid)[0] ?? '');
}

/** Zombie and dead, as Linux abbreviates them. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X']);

/** What Linux tells of a process, from its state on; empty where it tells nothing. */
export function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in parentheses and may hold anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
