import { readFileSync } from 'node:fs';
import { systemErrorCode } from './errors.ts';

/**
 * Whether a process of this machine is running. Processes of other users count, although they
 * accept no signals from us. A process that has ended counts as such even before its parent has
 * noticed, which in containers may be never.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemErrorCode(error) === 'ESRCH') return false;
  }
  return !ENDED.has(statOf(pid)[0] ?? '');
}

/** The states zombie and dead, as Linux abbreviates them. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X']);

/** The fields of `/proc/PID/stat`, from the state on; empty when there are none. */
export function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may hold any character.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
