import {
  barLine,
  countParts,
  createLiveBlock,
  createPaint,
  fitLine,
  type Host,
  type LinePart,
  leftParts,
  logosBlock,
  nowPart,
  type Paint,
  paceParts,
  type Terminal,
} from './block.ts';
import { hasStopped, type Progress, type WorkProgress } from './events.ts';
import { createRecentRate, createTimeLeft } from './time-left.ts';
import type { ProgressView } from './views.ts';
import { describePending, describeWait } from './waits.ts';

/** Shows progress in a block at the bottom of a terminal; the lookups stay above the logos. */
export function createProgressBlock(
  terminal: Terminal & { readonly hasColors?: () => boolean },
  host?: Host,
): ProgressView {
  const block = createLiveBlock(terminal, host);
  const paint = createPaint(terminal);
  const lookups = createLookupsBlock(paint);
  let shown: 'lookups' | 'logos' | 'rows' | undefined;

  function begin(of: typeof shown): void {
    if (shown !== of) block.end();
    shown = of;
  }

  return {
    show: (progress) => {
      if (progress.lookups === 0) return;
      begin('lookups');
      lookups.look(progress);
      block.draw(lookups.lines);
    },
    showLogos: (progress) => {
      if (progress.total === 0) return;
      begin('logos');
      block.draw((columns) => logosBlock(progress, paint, columns));
    },
    showRows: ({ written, total }) => {
      begin('rows');
      block.draw((columns) => [barLine({ done: written, total, unit: 'rows written' }, columns)]);
    },
    giveWay: () => {}, // other output comes above
    end: block.end,
  };
}

/** The lookups of a run as a block of lines. */
interface LookupsBlock {
  look(progress: Progress): void;
  /** The state it was last given, as lines at most this many columns wide. */
  readonly lines: (columns: number) => readonly string[];
}

const SEPARATOR = ', ';
/** Calls of other workers are reported by the chunk, and a chunk takes a while. */
const CHUNKS_MS = 15_000;

/**
 * A line of progress by row, one of how the rows ended, one of the speed, and, while calls wait,
 * one of why.
 */
export function createLookupsBlock(paint: Paint): LookupsBlock {
  const rate = createRecentRate();
  const rateOfChunks = createRecentRate({ windowMs: CHUNKS_MS });
  const timeLeft = createTimeLeft();
  let latest: Progress | undefined;

  return {
    look: (progress) => {
      latest = progress;
      const sample = { atMs: progress.elapsedMs, count: progress.calls };
      rate.add(sample);
      rateOfChunks.add(sample);
      timeLeft.look(progress);
    },
    lines: (columns) => {
      if (!latest) return [];
      const line = (parts: readonly LinePart[]): string =>
        paint(fitLine(parts, { columns, separatorLength: SEPARATOR.length }), SEPARATOR);
      const isStopped = hasStopped(latest);
      const isOver = isStopped || latest.done >= latest.lookups;
      const wait = isStopped ? undefined : describeWait(latest);
      const pending = describePending(latest.pending?.count ?? 0, latest.pending?.untilMs);
      return [
        barLine(howFar(latest), columns),
        line(countParts(latest.rows ?? latest.outcomes)),
        line([
          nowPart((latest.comesInBursts ? rateOfChunks : rate).perSecond),
          ...paceParts(latest.pace, { isOver }),
          ...(isOver ? [] : leftParts(timeLeft.leftMs)),
          ...(pending ? [{ forms: pending, rank: 6, color: 'yellow' } as const] : []),
        ]),
        ...(wait ? [line([{ forms: wait, rank: 0, color: 'yellow' }])] : []),
      ];
    },
  };
}

function howFar({ rows, done, lookups }: Progress): Parameters<typeof barLine>[0] {
  if (!rows) return { done, total: lookups, unit: 'lookups' };
  const { total, skipped: _, ...counts } = rows;
  const ended = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { done: ended, total, unit: 'rows' };
}

/** Shows the progress of a worker in a block at the bottom of a terminal. */
export interface WorkerBlock {
  readonly show: (progress: WorkProgress) => void;
  /** Leaves the last state readable. */
  readonly end: () => void;
}

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
