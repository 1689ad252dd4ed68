import type { Used } from './pace.ts';
import type { Totals } from './report.ts';

/** What all worlds together come to at the worst. */
export type Bounds = Pick<
  Totals,
  'wrongKept' | 'wrongFailed' | 'wrongStops' | 'missedStops' | 'runaways' | 'stuck' | 'callsToStop'
> & {
  /** At least, of all worlds that are to end. */
  readonly endedShare: number;
  readonly time: Partial<Totals['time']>;
  readonly calls: Partial<Totals['calls']>;
};

/** What is true today, a little rounded. It is to be tightened whenever it gets better. */
export const TENTH: Bounds = {
  endedShare: 0.5,
  time: { median: 2, of90: 100 },
  calls: { median: 1.1, of90: 3 },
  wrongKept: 2_000,
  wrongFailed: 3_000,
  wrongStops: 10,
  missedStops: 1,
  runaways: 3,
  stuck: 0,
  callsToStop: 100,
};

/** The same of all, whatever the seed. */
export const ALL: Bounds = {
  endedShare: 0.5,
  time: { median: 2, of90: 100 },
  calls: { median: 1.1, of90: 3 },
  wrongKept: 9_000,
  wrongFailed: 12_000,
  wrongStops: 80,
  missedStops: 2,
  runaways: 30,
  stuck: 0,
  callsToStop: 100,
};

/** What is wanted of all. */
export const WANTED: Bounds = {
  endedShare: 1,
  time: { median: 1.2, of90: 2.5, of95: 5, worst: 30 },
  calls: { of90: 1.6, worst: 4 },
  wrongKept: 5,
  wrongFailed: 20,
  wrongStops: 3,
  missedStops: 0,
  runaways: 0,
  stuck: 0,
  callsToStop: 10,
};

/** Where totals are out of bounds, in words. */
export function missedBounds(totals: Totals, bounds: Bounds): readonly string[] {
  const { endedShare, time, calls, ...most } = bounds;
  const pairs: (readonly [name: string, is: number, most: number])[] = [
    ...Object.entries(most).map(([name, bound]) => [
      name,
      totals[name as keyof typeof most],
      bound,
    ]),
    ...Object.entries(time).map(([name, bound]) => [
      `time ${name}`,
      totals.time[name as 'worst'],
      bound,
    ]),
    ...Object.entries(calls).map(([name, bound]) => [
      `calls ${name}`,
      totals.calls[name as 'worst'],
      bound,
    ]),
  ] as never;
  const missed = pairs.filter(([, is, bound]) => is > bound);
  const share = totals.ended / totals.toEnd;
  return [
    ...(share < endedShare ? [`ended: ${share}, expected at least ${endedShare}`] : []),
    ...missed.map(([name, is, bound]) => `${name}: ${is}, expected at most ${bound}`),
  ];
}

const LONG: Used = { used: 0.93, refused: 0.015 };
const COLD: Used = { used: 0.9, refused: 0.09 };

/** What is reached where a limit is hard to use, a little rounded. */
const SHORT: Readonly<Record<string, Partial<Used>>> = {
  // Calls arrive up to 10 ms early, one every 20 ms is allowed, and none saved up.
  'bucket 50/s, burst 1': { used: 0.5, refused: 0.02 },
  'bucket 1/s, 300 calls': { used: 0.75, refused: 0.12 },
  // What the first second holds back, a second for each refusal.
  'bucket 50/s, burst 5, waits': { used: 0.8 },
  'bucket 200/s, burst 10': { used: 0.92 },
  'any 50 in 1 s, X-RateLimit': { used: 0.86 },
  // Few of its calls take most of the time.
  '4 at once, 20 ms to 7 s': { used: 0.88 },
  // A limit is tested ever more seldom: that one has grown is slow to be seen.
  '50/s, then 200/s': { used: 0.53 },
  // What is learned is learned in round trips, and 5,000 calls at 20/s are 36 of those.
  'bucket 20/s, 7 s a call': { used: 0.65 },
  'any 40 in 4 s': { used: 0.8 },
  'any 200 in 4 s': { used: 0.82, refused: 0.02 },
  // It counts the refused calls, too: each test while it is closed keeps it closed for longer.
  'HAProxy 100 in 10 s': { used: 0.6, refused: 0.12 },
  // Taken for 30 in 5 s it would be 20 %.
  '30/s, then nothing for 5 s': { used: 0.5, refused: 0.04 },
};

export const longTarget = (name: string): Used => ({ ...LONG, ...SHORT[name] });
export const coldTarget = (name: string): Used => ({ ...COLD, ...SHORT[name] });
