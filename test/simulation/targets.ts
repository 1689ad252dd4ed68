/**
 * The most that is true today, a little rounded, of a tenth of the worlds and of all; to be tightened
 * whenever it gets better. And what is wanted of all.
 */
const MOST = {
  'time over the least, median': [1.3, 1.4, 1.2],
  'time over the least, 90th': [15, 25, 2.5],
  'time over the least, 95th': [300, 150, 5],
  'time over the least, worst': [300, 1_500, 30],
  'calls over the least, median': [1.1, 1.1, 1.1],
  'calls over the least, 90th': [6, 2.5, 1.6],
  'calls over the least, 95th': [18, 4.5, 2.5],
  'calls over the least, worst': [18, 40, 4],
  'not ended, in %': [40, 37, 0],
  'wrong verdicts kept': [50, 14_000, 5],
  'failed though to be had': [1_800, 22_000, 20],
  'wrong stops': [8, 80, 3],
  'missed stops': [1, 4, 0],
  'without end': [5, 36, 0],
  stuck: [0, 0, 0],
  'most calls until a stop at the start': [10, 100, 10],
} as const;

export type Measure = keyof typeof MOST;

/** A number for each measure. */
export type Totals = Readonly<Record<Measure, number>>;

const column = (at: 0 | 1 | 2): Totals =>
  Object.fromEntries(Object.entries(MOST).map(([name, bounds]) => [name, bounds[at]])) as Totals;

export const TENTH: Totals = column(0);
export const ALL: Totals = column(1);
export const WANTED: Totals = column(2);
