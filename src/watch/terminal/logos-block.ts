import { formatCount, formatShortCount } from '../describe/format-count.ts';
import type { LogoProgress } from '../events.ts';
import { fitLine, type LinePart } from './fit-line.ts';
import { leftParts } from './left-parts.ts';
import type { Paint } from './paint.ts';
import { barLine } from './progress-bar.ts';

const SEPARATOR = ', ';

/** The logos of a run as a block of lines, at most this many columns wide. */
export function logosBlock(progress: LogoProgress, paint: Paint, columns: number): string[] {
  const { total, saved, kept, missing } = progress;
  const done = saved + kept + missing;
  const parts: readonly LinePart[] = [
    countPart(saved, 'saved', 3),
    ...(kept > 0 ? [countPart(kept, 'kept', 1)] : []),
    ...(missing > 0 ? [countPart(missing, 'missing', 2)] : []),
    ...(done < total ? leftParts(leftMsOf(progress)) : []),
  ];
  return [
    barLine({ done, total, unit: 'logos' }, columns),
    paint(fitLine(parts, { columns, separatorLength: SEPARATOR.length }), SEPARATOR),
  ];
}

/**
 * Estimates the time left in milliseconds from the speed so far; undefined before the first logo.
 */
export function leftMsOf(progress: LogoProgress): number | undefined {
  const { total, saved, kept, missing, elapsedMs } = progress;
  const done = saved + kept + missing;
  return done > 0 ? ((total - done) / done) * elapsedMs : undefined;
}

function countPart(count: number, what: string, rank: number): LinePart {
  return { forms: [`${formatCount(count)} ${what}`, `${formatShortCount(count)} ${what}`], rank };
}
