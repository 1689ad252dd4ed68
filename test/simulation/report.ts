import type { Score } from './play.ts';
import type { Measure, Totals } from './targets.ts';
import { isHopeless } from './world.ts';

/**
 * A run that is this much longer is as good: a second for the last retries, and one for the start.
 */
const SLACK_MS = 2_000;
const QUANTILES = { median: 0.5, '90th': 0.9, '95th': 0.95, worst: 1 };

const timeOf = ({ elapsedMs, least }: Score): number => elapsedMs / (least.ms + SLACK_MS);
const callsOf = ({ calls, least }: Score): number => calls / least.calls;

/** What is wrong with how it ended. */
function faultOf({ world, stopped, how }: Score): string | undefined {
  if (how !== 'done') return how === 'late' ? 'NO END' : 'STUCK';
  if (stopped !== undefined) return world.stop === undefined ? 'WRONG STOP' : undefined;
  return world.stop === 'must' ? 'NO STOP' : undefined;
}

/** What all worlds came to: less is better. */
export function totalsOf(scores: readonly Score[]): Totals {
  const toEnd = scores.filter(({ world }) => world.stop === undefined);
  const ended = toEnd.filter((score) => faultOf(score) === undefined);
  const faults = (name: string): number => scores.filter((one) => faultOf(one) === name).length;
  const sum = (of: (score: Score) => number): number =>
    scores.reduce((total, score) => total + of(score), 0);
  const quantiles = (what: string, of: (score: Score) => number) => {
    const sorted = ended.map(of).sort((a, b) => a - b);
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    const all = Object.entries(QUANTILES);
    return Object.fromEntries(
      all.map(([name, share]) => [`${what} over the least, ${name}`, at(share)]),
    );
  };
  const stops = scores.filter(
    ({ world, stopped }) => stopped !== undefined && world.stop === 'must' && isHopeless(world),
  );
  return {
    ...quantiles('time', timeOf),
    ...quantiles('calls', callsOf),
    'not ended, in %': 100 * (1 - ended.length / Math.max(1, toEnd.length)),
    'wrong verdicts kept': sum(({ wrongKept }) => wrongKept),
    'failed though to be had': sum(({ wrongFailed }) => wrongFailed),
    'wrong stops': faults('WRONG STOP'),
    'missed stops': faults('NO STOP'),
    'without end': faults('NO END'),
    stuck: faults('STUCK'),
    'most calls until a stop at the start': Math.max(0, ...stops.map(({ calls }) => calls)),
  } as Totals;
}

/** Columns of a line, with their widths. */
const COLUMNS: readonly (readonly [name: string, width: number, of: (score: Score) => string])[] = [
  ['time ×', 9, (score) => timeOf(score).toFixed(2)],
  ['calls ×', 9, (score) => callsOf(score).toFixed(2)],
  ['kept', 6, ({ wrongKept }) => String(wrongKept)],
  ['failed', 7, ({ wrongFailed }) => String(wrongFailed)],
  ['seconds', 9, ({ elapsedMs }) => (elapsedMs / 1_000).toFixed(1)],
  ['least', 8, ({ least }) => (least.ms / 1_000).toFixed(1)],
  ['calls', 7, ({ calls }) => String(calls)],
  ['least', 7, ({ least }) => String(least.calls)],
];

/** The worst worlds, a line each. */
export function describeWorlds(scores: readonly Score[], most = scores.length): string {
  const lines = scores.toSorted((a, b) => badnessOf(b) - badnessOf(a)).slice(0, most);
  const head = COLUMNS.map(([name, width]) => name.padStart(width)).join('');
  const lineOf = (score: Score): string => {
    const numbers = COLUMNS.map(([, width, of]) => of(score).padStart(width)).join('');
    const { stopped = '', world } = score;
    return `${numbers}  ${world.name} ${faultOf(score) ?? ''} ${stopped}`.trimEnd();
  };
  return [`${head}  world`, ...lines.map(lineOf)].join('\n');
}

/** Totals beside the most that they may be. Those that are more are marked. */
export function describeTotals(totals: Totals, bounds: Totals): string {
  return Object.entries(bounds)
    .map(([name, most]) => {
      const is = totals[name as Measure];
      const columns = [is.toFixed(2).padStart(9), most.toFixed(2).padStart(9)].join('');
      return `${name.padEnd(38)}${columns}${is > most ? '  MORE' : ''}`;
    })
    .join('\n');
}

/** The worst first. */
function badnessOf(score: Score): number {
  const { wrongKept, wrongFailed, stopped } = score;
  const ratio = Math.max(stopped === undefined ? timeOf(score) : 0, 2 * callsOf(score));
  return (faultOf(score) ? 1e9 : 0) + 50 * wrongKept + 5 * wrongFailed + ratio;
}
