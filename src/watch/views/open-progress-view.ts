import { createProgressLines, NO_PROGRESS, type ProgressView } from './progress-lines.ts';

/**
 * How progress is shown: `bar` redraws a block at the bottom of the terminal, `lines` writes a line
 * every few seconds.
 */
export type ProgressStyle = 'bar' | 'lines' | 'none';

/** @param stream where it is shown; standard error, so that rows on standard output stay clean */
export async function openProgressView(
  wish: ProgressStyle | 'auto',
  stream: NodeJS.WriteStream,
): Promise<ProgressView> {
  switch (chooseStyle(wish, { isTTY: stream.isTTY, env: process.env })) {
    case 'bar': {
      // Loaded here, so that nobody without a bar has to wait for it.
      const { createProgressBlock } = await import('../terminal/progress-block.ts');
      return createProgressBlock(stream);
    }
    case 'lines':
      return createProgressLines((line) => void stream.write(`${line}\n`));
    case 'none':
      return NO_PROGRESS;
  }
}

/** Chooses what suits a stream: a bar on a terminal that can redraw it, lines elsewhere. */
export function chooseStyle(
  wish: ProgressStyle | 'auto',
  { isTTY = false, env }: { readonly isTTY?: boolean; readonly env: NodeJS.ProcessEnv },
): ProgressStyle {
  if (wish === 'lines' || wish === 'none') return wish;
  return isTTY && env['TERM'] !== 'dumb' ? 'bar' : 'lines';
}
