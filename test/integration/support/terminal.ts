import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { builtCommand } from './build.ts';
import { ENVIRONMENT } from './command.ts';

/** A command at a terminal of its own; what it shows and what is typed are one stream. */
export interface Terminal {
  /** Resolves when a text was shown; rejects when the command ends without. */
  shows(text: string): Promise<void>;
  type(keys: string): void;
  /** All that was shown, without what moves the cursor, and the exit code. */
  readonly ended: Promise<{ readonly code: number | null; readonly shown: string }>;
}

/**
 * Whether there is a `script` that makes terminals, as util-linux has it on every Debian. Says what is
 * left out where there is none.
 */
export function canOpenTerminal(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    console.log('Left out: what is shown on a terminal, because there is no script of util-linux.');
    return false;
  }
}

/** Starts the real command at a terminal. */
export async function openTerminal(
  args: readonly string[],
  { cwd }: { readonly cwd: string },
): Promise<Terminal> {
  const words = [process.execPath, await builtCommand(), ...args];
  const line = `exec ${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`;
  const child = spawn('script', ['-q', '-e', '-c', line, '/dev/null'], {
    cwd,
    env: { ...ENVIRONMENT, SHELL: '/bin/sh', TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  return {
    shows: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (shown.includes(text)) resolve();
        };
        child.stdout.on('data', look);
        child.once('close', () => reject(new Error(`'${text}' was not shown: ${shown}`)));
        look();
      }),
    type: (keys) => void child.stdin.write(keys),
    ended: once(child, 'close').then(([code]) => ({
      code: code as number | null,
      shown: plainText(shown),
    })),
  };
}

function plainText(shown: string): string {
  // oxlint-disable-next-line no-control-regex -- escape sequences begin with one
  return shown.replaceAll(/\u001b(?:\[[\d;?]*[A-Za-z]|[78])/g, '').replaceAll('\r', '');
}
