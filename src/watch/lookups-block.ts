import { describeWait } from './describe-wait.ts';
import type { Progress, RowProgress } from './events.ts';
import { fitLine, type LinePart, type PartColor } from './fit-line.ts';
import { formatCount, formatShortCount } from './format-count.ts';
import { formatRate } from './format-rate.ts';
import { leftParts } from './left-parts.ts';
import type { Paint } from './paint.ts';
import { barLine } from './progress-bar.ts';
import { createRecentRate } from './recent-rate.ts';
import { createTimeLeft } from './time-left.ts';

/** The lookups of a run as a block of lines. */
export interface LookupsBlock {
  look(progress: Progress): void;
  /** As it was looked at last, in so many columns at most. */
  readonly lines: (columns: number) => readonly string[];
}

const SEPARATOR = ', ';
/** Calls of others are told by the chunk, and a chunk takes a while. */
const CHUNKS_MS = 15_000;

/**
 * A line of how far it is by row, one of what has become of the rows, one of how fast it goes, and,
 * where calls wait, one of why.
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
      const wait = describeWait(latest);
      return [
        barLine(howFar(latest), columns),
        line(countParts(latest)),
        line([
          nowPart((latest.comesInBursts ? rateOfChunks : rate).perSecond),
          ...paceParts(latest),
          ...(latest.done < latest.lookups ? leftParts(timeLeft.leftMs) : []),
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

type Countable = Exclude<keyof RowProgress, 'total'>;

/** In the order in which they are shown. */
const COUNTS: readonly (readonly [of: Countable, rank: number, color?: PartColor])[] = [
  ['found', 7, 'green'],
  ['not_found', 5],
  ['rejected', 4],
  ['failed', 6, 'red'],
  ['invalid', 2],
  ['fresh', 1],
  ['skipped', 3],
];

/** What there is none of is left out, but for what was found. */
function countParts({ rows, outcomes }: Progress): readonly LinePart[] {
  const counts: Readonly<Partial<Record<Countable, number>>> = rows ?? outcomes;
  return COUNTS.flatMap(([of, rank, color]) => {
    const count = counts[of] ?? 0;
    if (count === 0 && of !== 'found') return [];
    const what = of.replace('_', ' ');
    return [
      {
        forms: [`${formatCount(count)} ${what}`, `${formatShortCount(count)} ${what}`],
        rank,
        color,
      },
    ];
  });
}

/** `48 calls/s`, `6 calls/min`. */
function nowPart(perSecond: number): LinePart {
  const rate = perSecond > 0 ? formatRate(perSecond) : '0/s';
  return { forms: [rate.replace('/', ' calls/'), rate], rank: 3 };
}

/** The limit that calls are held to, and what else there is to say of the pace. */
function paceParts({ pace, done, lookups }: Progress): readonly LinePart[] {
  if (!pace) return [];
  const isOver = done >= lookups;
  const { limitIs, ratePerSecond, learnedLimitPerSecond: learned, concurrencyLimit, why } = pace;
  const parts: LinePart[] = [];
  if (limitIs === 'fixed') {
    const rate = formatRate(ratePerSecond);
    parts.push({ forms: [`held to ${rate}`, `of ${rate}`], rank: 2 });
  } else if (learned !== undefined) {
    const rate = formatRate(learned);
    parts.push({ forms: [`limit about ${rate}`, `limit ${rate}`], rank: 2 });
  } else if (why === 'starting' && !isOver) {
    parts.push({ forms: ['finding the limit'], rank: 1 });
  }
  if (concurrencyLimit !== undefined) {
    parts.push({ forms: [`at most ${concurrencyLimit} at once`], rank: 1 });
  }
  if (why === 'probing' && !isOver) parts.push({ forms: ['probing'], rank: 0 });
  return parts;
}
