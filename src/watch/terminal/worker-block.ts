import { describeWait } from '../describe/describe-wait.ts';
import type { WorkProgress } from '../events.ts';
import { createRecentRate } from '../time-left.ts';
import {
  countParts,
  createPaint,
  fitLine,
  type LinePart,
  nowPart,
  paceParts,
} from './block-parts.ts';
import { createLiveBlock, type Host, type Terminal } from './live-block.ts';

/** Shows the progress of a worker in a block at the bottom of a terminal. */
export interface WorkerBlock {
  readonly show: (progress: WorkProgress) => void;
  /** Leaves the last state readable. */
  readonly end: () => void;
}

const SEPARATOR = ', ';

/** A line of how its lookups ended, one of the speed, and, while calls wait, one of why. */
export function createWorkerBlock(
  terminal: Terminal & { readonly hasColors?: () => boolean },
  host?: Host,
): WorkerBlock {
  const block = createLiveBlock(terminal, host);
  const paint = createPaint(terminal);
  const rate = createRecentRate();
  return {
    show: (progress) => {
      rate.add({ atMs: progress.elapsedMs, count: progress.calls });
      block.draw((columns) => {
        const line = (parts: readonly LinePart[]): string =>
          paint(fitLine(parts, { columns, separatorLength: SEPARATOR.length }), SEPARATOR);
        const wait = describeWait(progress);
        return [
          line(countParts(progress.outcomes)),
          line([nowPart(rate.perSecond), ...paceParts(progress.pace, { isOver: false })]),
          ...(wait ? [line([{ forms: wait, rank: 0, color: 'yellow' }])] : []),
        ];
      });
    },
    end: block.end,
  };
}
