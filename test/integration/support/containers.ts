import { execFileSync } from 'node:child_process';

/** Why no test can start processes in process namespaces of their own; false when it can. */
export function whyNoContainers(): string | false {
  try {
    execFileSync('unshare', [...NAMESPACES, 'true'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'what takes namespaces of processes: Linux, and root';
  }
}

/** A process in them has number 1, and ends with the `unshare` that started it. */
const NAMESPACES = ['--uts', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** What starts a command with files of a folder in place of those of the same names in `/etc`. */
export function withEtc(folder: string, command: readonly string[]): readonly string[] {
  const mount = 'for file in "$1"/*; do mount --bind "$file" "/etc/${file##*/}" || exit; done';
  return ['unshare', '--mount', 'sh', '-c', `${mount}; shift; exec "$@"`, 'sh', folder, ...command];
}

/** What starts a command as a container does: it has number 1, and a host name of its own. */
export function inContainer(hostName: string, command: readonly string[]): readonly string[] {
  const script = 'hostname "$1" && shift && exec "$@"';
  return ['unshare', ...NAMESPACES, 'sh', '-c', script, 'sh', hostName, ...command];
}
