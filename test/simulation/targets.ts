/**
 * The most that is true today, a little rounded, of a tenth of the worlds and of all; to be
 * tightened whenever it gets better. And what is wanted of all. Then the same of four workers that
 * share a pace, of a twentieth of the worlds and of all.
 */
const MOST = {
  'time over the least, median': [1.2, 1.2, 1.2, 1.3, 1.3],
  'time over the least, 90th': [2, 3.5, 2.5, 5, 7],
  'time over the least, 95th': [4, 8, 5, 12, 20],
  'time over the least, worst': [6, 50, 30, 12, 1_500],
  'calls over the least, median': [1.1, 1.1, 1.1, 1.15, 1.15],
  'calls over the least, 90th': [2, 2.2, 1.6, 2.5, 3],
  'calls over the least, 95th': [3, 3, 2.5, 3.5, 5],
  'calls over the least, worst': [6, 8, 4, 4, 30],
  'not ended, in %': [5, 3, 0, 5, 8],
  'wrong verdicts kept': [5, 20, 5, 5, 600],
  'failed though to be had': [5, 100, 20, 5, 5_000],
  'wrong stops': [1, 8, 3, 1, 20],
  'missed stops': [0, 1, 0, 0, 2],
  'without end': [0, 3, 0, 0, 4],
  stuck: [0, 0, 0, 0, 0],
  'most calls until a stop at the start': [10, 10, 10, 25, 400],
} as const;

export type Measure = keyof typeof MOST;

/** A number for each measure. */
export type Totals = Readonly<Record<Measure, number>>;

const column = (at: 0 | 1 | 2 | 3 | 4): Totals =>
  Object.fromEntries(Object.entries(MOST).map(([name, bounds]) => [name, bounds[at]])) as Totals;

export const TENTH: Totals = column(0);
export const ALL: Totals = column(1);
export const WANTED: Totals = column(2);
export const FLEET_SOME: Totals = column(3);
export const FLEET_ALL: Totals = column(4);
