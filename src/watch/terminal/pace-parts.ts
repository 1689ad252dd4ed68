import type { PaceDescription } from '../../pace/pacer.ts';
import { formatRate } from '../describe/format-rate.ts';
import type { LinePart } from './fit-line.ts';

/** `48 calls/s`, `6 calls/min`. */
export function nowPart(perSecond: number): LinePart {
  const rate = perSecond > 0 ? formatRate(perSecond) : '0/s';
  return { forms: [rate.replace('/', ' calls/'), rate], rank: 3 };
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
