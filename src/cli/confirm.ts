import { createInterface } from 'node:readline/promises';
import type { Plan } from '../index.ts';

/** Whether somebody sits at the terminal and can be asked. */
export function isOnTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks the person at the terminal whether these calls are intended; undefined without a terminal.
 */
export function confirmOnTerminal(
  signal: AbortSignal,
): ((plan: Plan) => Promise<boolean>) | undefined {
  if (!isOnTerminal()) return undefined;
  return async ({ calls }) => {
    const what = calls === 1 ? '1 call' : `${calls.toLocaleString('en-US')} calls`;
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    // Raw mode takes Ctrl-C from the signals.
    terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    // Ctrl-D closes it without a reply.
    const closed = new Promise<undefined>((resolve) => {
      terminal.on('close', () => resolve(undefined));
    });
    let reply: string | undefined;
    try {
      const asked = terminal.question(`Make ${what}? (--yes skips this question) [y/N] `, {
        signal,
      });
      reply = await Promise.race([asked, closed]);
      return /^y(es)?$/i.test(reply?.trim() ?? '');
    } finally {
      terminal.close();
      if (reply === undefined) process.stderr.write('\n');
    }
  };
}
