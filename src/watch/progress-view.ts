import type { LogoProgress, Progress } from './events.ts';
import { createProgressLines } from './progress-lines.ts';

/**
 * How progress is shown: `bar` draws a block at the bottom of the terminal again and again, `lines`
 * writes a line every few seconds.
 */
export type ProgressStyle = 'bar' | 'lines' | 'none';

/** Shows how far the lookups are, and the logos behind them. */
export interface ProgressView {
  show(progress: Progress): void;
  showLogos(progress: LogoProgress): void;
  /** Something else is going to be written. */
  giveWay(): void;
  /** Leaves the last state readable; later output starts on a line of its own. */
  end(): void;
}

/** @param stream where it is shown; standard error, so that rows on standard output stay clean */
export async function openProgressView(
  wish: ProgressStyle | 'auto',
  stream: NodeJS.WriteStream,
): Promise<ProgressView> {
  switch (chooseStyle(wish, { isTTY: stream.isTTY, env: process.env })) {
    case 'bar': {
      // Loaded here, so that whoever sees no bar need not wait for it.
      const { createProgressBlock } = await import('./progress-block.ts');
      return createProgressBlock(stream);
    }
    case 'lines':
      return createProgressLines((line) => void stream.write(`${line}\n`));
    case 'none':
      return NO_PROGRESS;
  }
}

/** Shows none. */
export const NO_PROGRESS: ProgressView = {
  show: () => {},
  showLogos: () => {},
  giveWay: () => {},
  end: () => {},
};

/** What fits a stream: a bar on a terminal that can redraw it, lines elsewhere. */
export function chooseStyle(
  wish: ProgressStyle | 'auto',
  { isTTY = false, env }: { readonly isTTY?: boolean; readonly env: NodeJS.ProcessEnv },
): ProgressStyle {
  if (wish === 'lines' || wish === 'none') return wish;
  return isTTY && env['TERM'] !== 'dumb' ? 'bar' : 'lines';
}
