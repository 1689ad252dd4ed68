import { createInterface } from 'node:readline/promises';
import type { Plan } from '../index.ts';

/** Asks whoever sits at the terminal whether so many calls are meant; undefined when nobody does. */
export function confirmOnTerminal(
  signal: AbortSignal,
): ((plan: Plan) => Promise<boolean>) | undefined {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return async ({ lookups }) => {
    const terminal = createInterface({ input: stdin, output: stderr });
    // Raw mode takes Ctrl-C from the signals.
    terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      const question = `Make ${lookups.toLocaleString('en-US')} calls? (--yes does not ask) [y/N] `;
      const reply = await terminal.question(question, { signal });
      return /^y(es)?$/i.test(reply.trim());
    } finally {
      terminal.close();
    }
  };
}
