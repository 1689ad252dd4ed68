import type { LogoProgress, Progress, WriteProgress } from '../events.ts';

/** Shows how far the lookups are, the logos behind them, and the rows that are written in the end. */
export interface ProgressView {
  show(progress: Progress): void;
  showLogos(progress: LogoProgress): void;
  showRows(progress: WriteProgress): void;
  /** Something else is going to be written. */
  giveWay(): void;
  /** Leaves the last state readable; later output starts on a line of its own. */
  end(): void;
}

/** Shows none. */
export const NO_PROGRESS: ProgressView = {
  show: () => {},
  showLogos: () => {},
  showRows: () => {},
  giveWay: () => {},
  end: () => {},
};
