import type { Log } from '../watch/views/log.ts';

/** What commands need of the process that runs them. */
export interface CliContext {
  /** Notes the exit code; the process ends when the command returns. */
  readonly finish: (code: number) => void;
  /** Ends the process now, whatever is going on. */
  readonly endAtOnce: (code: number) => void;
  /** Has what goes wrong told in a log. @default on standard error, as text */
  readonly reportTo: (log: Log) => void;
}
