import type { RunView } from './run-view.ts';

/** How far a run is: so many of so many. */
export interface Far {
  readonly done: number;
  readonly total: number;
  /** What is counted, in the plural. */
  readonly unit: 'rows' | 'domains' | 'logos' | 'rows written';
}

type Watched = Pick<
  RunView,
  'phase' | 'rows' | 'rowsSoFar' | 'lookups' | 'due' | 'logos' | 'logoTotal' | 'written'
>;

/** Counts what the phase is about: rows as far as they are known, else domains; logos; rows written. */
export function howFar(view: Watched): Far {
  const { phase, rows, rowsSoFar, lookups, due, logos, logoTotal = 0, written } = view;
  if (written !== undefined) return { done: written, total: rows, unit: 'rows written' };
  if (phase === 'saving_logos' && logos) {
    return { done: logos.saved + logos.kept + logos.missing, total: logoTotal, unit: 'logos' };
  }
  if (!rowsSoFar) return { done: lookups, total: due, unit: 'domains' };
  const { skipped: _, ...ended } = rowsSoFar;
  const done = Object.values(ended).reduce((sum, count) => sum + count, 0);
  return { done, total: rows, unit: 'rows' };
}

/** Rounded down: unfinished work is never at 100 %. */
export function shareOf({ done, total }: Far): number {
  return total > 0 ? Math.floor(Math.min(1, done / total) * 100) / 100 : 1;
}
