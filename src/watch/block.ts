import { styleText } from 'node:util';
import {
  formatCount,
  formatDuration,
  formatRate,
  formatShortCount,
  formatUnits,
} from '../common/format.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { LogoProgress, Progress, RowProgress } from './events.ts';

type Countable = Exclude<keyof RowProgress, 'total'>;

/** In the order in which they are shown. */
const COUNTS: readonly (readonly [of: Countable, rank: number, color?: PartColor])[] = [
  ['found', 7, 'green'],
  ['not_found', 5],
  ['rejected', 4],
  ['failed', 6, 'red'],
  ['pending', 5, 'yellow'],
  ['invalid', 2],
  ['fresh', 1],
  ['skipped', 3],
];

/** `41,020 found`, `3 failed`: counts of zero are left out, except that of found rows. */
export function countParts(
  counts: Readonly<Partial<Record<Countable, number>>>,
): readonly LinePart[] {
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

const SHORTEST_MS = 1_000;
const RANK = 10;

/**
 * `about 12 min left`, as the part of highest rank; nothing when it is not known, or nearly over.
 *
 * @param leftMs in milliseconds
 */
export function leftParts(leftMs: number | undefined): readonly LinePart[] {
  if (leftMs === undefined || leftMs < SHORTEST_MS) return [];
  const time = formatDuration(roughly(leftMs));
  return [{ forms: [`about ${time} left`, `${time} left`], rank: RANK }];
}

/** Rounds to the precision that is known. */
function roughly(ms: number): number {
  const [, stepMs] = STEPS.find(([belowMs]) => ms < belowMs) ?? [0, 3_600_000];
  return Math.round(ms / stepMs) * stepMs;
}

const STEPS: readonly (readonly [belowMs: number, stepMs: number])[] = [
  [60_000, 1_000],
  [600_000, 10_000],
  [36_000_000, 60_000],
];

/** `48 calls/s`, `6 calls/min`. */
export function nowPart(perSecond: number): LinePart {
  const rate = perSecond > 0 ? formatRate(perSecond) : '0/s';
  return { forms: [rate.replace('/', ' calls/'), rate], rank: 3 };
}

/** `140 credits`: what the API has billed so far; of two, each in its unit. */
export function billParts({
  bill,
  apis = [],
}: Pick<Progress, 'bill' | 'apis'>): readonly LinePart[] {
  const bills = bill ? [formatUnits(bill)] : [];
  const ofApis = apis.flatMap(({ name, bill }) => (bill ? [`${name} ${formatUnits(bill)}`] : []));
  return [...bills, ...ofApis].map((text) => ({ forms: [text], rank: 4 }));
}

/**
 * The limit that calls are held to, and other remarks on the pace.
 *
 * @param isOver whether no more calls will come
 */
export function paceParts(
  pace: PaceDescription | undefined,
  { isOver }: { readonly isOver: boolean },
): readonly LinePart[] {
  if (!pace) return [];
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

interface BarOptions {
  readonly done: number;
  readonly total: number;
  /** What is counted, such as `rows`. */
  readonly unit: string;
}

const NARROWEST = 4;
const WIDEST = 40;
const GAP = '  ';

/** `██████░░░░  58%  58,120 of 100,000 rows`, at most this many columns wide. */
export function barLine({ done, total, unit }: BarOptions, columns: number): string {
  const share = total > 0 ? Math.min(1, done / total) : 1;
  const parts: readonly LinePart[] = [
    // Rounded down, so that unfinished work is never at 100 %.
    { forms: [`${Math.floor(share * 100)}%`], rank: 2 },
    {
      forms: [
        `${formatCount(done)} of ${formatCount(total)} ${unit}`,
        `${formatCount(done)}/${formatCount(total)}`,
        `${formatShortCount(done)}/${formatShortCount(total)}`,
      ],
      rank: 1,
    },
  ];
  const fit = (width: number): readonly string[] =>
    fitLine(parts, { columns: width, separatorLength: GAP.length }).map(({ text }) => text);
  const beside = fit(columns - NARROWEST - GAP.length);
  if (beside.length < parts.length) return fit(columns).join(GAP);
  const text = beside.join(GAP);
  const width = Math.min(WIDEST, columns - text.length - GAP.length);
  const filled = Math.floor(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}${GAP}${text}`;
}

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

/** A part of a line, such as `3 failed`. */
export interface LinePart {
  /** Its texts, the longest first, for where there is room. Each character takes one column. */
  readonly forms: readonly [string, ...string[]];
  /** When room is short, parts with a higher rank are kept first, and kept long. */
  readonly rank: number;
  readonly color?: PartColor | undefined;
}

type PartColor = 'green' | 'red' | 'yellow';

/** A part as it will be seen. */
interface FittedPart {
  readonly text: string;
  readonly color: PartColor | undefined;
}

/**
 * Fits a line into a number of columns. As many parts as possible stay, those of the highest rank
 * first. Among these, the parts of the lowest rank are shortened first. If a single part is left
 * and is too long, it is cut and ends in `…`.
 *
 * @param separatorLength the number of columns between two parts
 */
export function fitLine(
  parts: readonly LinePart[],
  { columns, separatorLength }: { readonly columns: number; readonly separatorLength: number },
): readonly FittedPart[] {
  const byRank = parts.toSorted((one, other) => one.rank - other.rank);
  const lengthOf = (texts: readonly string[]): number =>
    texts.reduce((length, text) => length + text.length, separatorLength * (texts.length - 1));

  let kept = byRank;
  const shortest = (): string[] => kept.map(({ forms }) => forms.at(-1) ?? '');
  while (kept.length > 1 && lengthOf(shortest()) > columns) kept = kept.slice(1);

  const texts = new Map(kept.map((part) => [part, part.forms[0]]));
  for (const part of kept) {
    for (const form of part.forms) {
      texts.set(part, form);
      if (lengthOf([...texts.values()]) <= columns) break;
    }
  }
  return parts.flatMap((part) => {
    const text = texts.get(part);
    return text === undefined ? [] : [{ text: cut(text, columns), color: part.color }];
  });
}

function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}

/** Gives the parts of a line their colours, and joins them. */
export type Paint = (parts: readonly FittedPart[], separator: string) => string;

/**
 * @param stream says whether it shows colours: a terminal does, unless `NO_COLOR` or `TERM=dumb`
 * say otherwise, or `FORCE_COLOR` says so
 */
export function createPaint(stream: { readonly hasColors?: () => boolean }): Paint {
  const hasColors = stream.hasColors?.() ?? false;
  return (parts, separator) =>
    parts
      .map(({ text, color }) =>
        hasColors && color ? styleText(color, text, { validateStream: false }) : text,
      )
      .join(separator);
}
