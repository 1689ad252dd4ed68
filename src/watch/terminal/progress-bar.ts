import { formatCount, formatShortCount } from '../describe/format-count.ts';
import { fitLine, type LinePart } from './fit-line.ts';

export interface BarOptions {
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
