import type { LogoProgress, Progress, WriteProgress } from '../events.ts';

/** Shows how far the lookups are, then the logos, and in the end the rows that are written. */
export interface ProgressView {
  show(progress: Progress): void;
  showLogos(progress: LogoProgress): void;
  showRows(progress: WriteProgress): void;
  /** Must be called before anything else is written. */
  giveWay(): void;
  /** Leaves the last state readable; later output starts on a line of its own. */
  end(): void;
}

/** Shows no progress. */
export const NO_PROGRESS: ProgressView = {
  show: () => {},
  showLogos: () => {},
  showRows: () => {},
  giveWay: () => {},
  end: () => {},
};
