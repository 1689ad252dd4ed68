import { EXIT } from '../exit-codes.ts';
import type { CliContext } from './context.ts';

export interface Interrupt {
  /** Fires at the first signal. */
  readonly signal: AbortSignal;
  /** Does what a signal does. */
  readonly interrupt: () => void;
  /** Removes the signal handlers. */
  dispose(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Turns the first Ctrl-C, SIGTERM or SIGHUP into an abort signal, and lets the second end the
 * process at once.
 *
 * @param endAtOnce ends the process
 */
export function onInterrupt(endAtOnce: CliContext['endAtOnce']): Interrupt {
  const controller = new AbortController();
  const handle = (): void => {
    if (controller.signal.aborted) endAtOnce(EXIT.interrupted);
    else controller.abort();
  };
  for (const name of SIGNALS) process.on(name, handle);
  return {
    signal: controller.signal,
    interrupt: handle,
    dispose: () => {
      for (const name of SIGNALS) process.off(name, handle);
    },
  };
}

/**
 * Ignores a signal that comes when a command has ended by itself, since it would replace the
 * command's exit code. A second signal of the same kind ends the process, should it hang.
 */
export function letLateSignalPass(): void {
  for (const name of SIGNALS) process.once(name, () => {});
}
