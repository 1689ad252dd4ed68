/** Facts about a notice, for programs. */
export interface NoticeFacts {
  /** `info` for normal events, `warn` for what may need attention. @default `warn` */
  readonly level?: 'info' | 'warn';
  /** The run that the notice is about. */
  readonly run?: string;
  /** The scheduled job that the notice is about. */
  readonly job?: string;
  /** How a scheduled run ended. */
  readonly event?: 'finished' | 'error';
  /** The exit code of the run. */
  readonly exitCode?: number;
  /** The summary of a run that finished. */
  readonly summary?: object;
}

/** Called with notices worth a line in a log, each in a sentence. */
export type OnNotice = (message: string, facts?: NoticeFacts) => void;
