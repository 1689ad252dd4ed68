import type { Log } from '../watch/views/log.ts';

/** The process that runs a command, as far as commands need it. */
export interface CliContext {
  /** Notes the exit code; the process ends when the command returns. */
  readonly finish: (code: number) => void;
  /** Ends the process now, whatever is going on. */
  readonly endAtOnce: (code: number) => void;
  /** Sends error messages to a log. @default on standard error, as text */
  readonly reportTo: (log: Log) => void;
}
