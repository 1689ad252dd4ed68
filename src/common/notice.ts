/** What a program may want to know of something worth a line in a log. */
export interface NoticeFacts {
  /** `info` for how things go, `warn` for what somebody may have to look at. @default `warn` */
  readonly level?: 'info' | 'warn';
  /** The run that it is about. */
  readonly run?: string;
  /** The scheduled job that it is about. */
  readonly job?: string;
  /** How a run ended that was made by schedule. */
  readonly event?: 'finished' | 'error';
  /** What the run ended with. */
  readonly exitCode?: number;
  /** What it did, of one that finished. */
  readonly summary?: object;
}

/** Told what is worth a line in a log, in a sentence. */
export type OnNotice = (message: string, facts?: NoticeFacts) => void;
