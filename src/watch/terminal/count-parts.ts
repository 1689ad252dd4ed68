import { formatCount, formatShortCount } from '../describe/format-count.ts';
import type { RowProgress } from '../events.ts';
import type { LinePart, PartColor } from './fit-line.ts';

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
