/** What a program may want to know of something worth a line in a log. */
export interface NoticeFacts {
  /** `info` for how things go, `warn` for what somebody may have to look at. @default `warn` */
  readonly level?: 'info' | 'warn';
  /** The run that it is about. */
  readonly run?: string;
  /** The scheduled job that it is about. */
  readonly job?: string;
}

/** Told what is worth a line in a log, in a sentence. */
export type OnNotice = (message: string, facts?: NoticeFacts) => void;
