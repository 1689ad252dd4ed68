/** What commands need of the process that runs them. */
export interface CliContext {
  /** Notes the exit code; the process ends when the command returns. */
  readonly finish: (code: number) => void;
  /** Ends the process now, whatever is going on. */
  readonly endAtOnce: (code: number) => void;
}
