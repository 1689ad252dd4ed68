import { formatDuration } from '../../job/values/duration.ts';
import type { LinePart } from './fit-line.ts';

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
