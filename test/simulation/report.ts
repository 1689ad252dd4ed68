import type { Score } from './play.ts';
import { isHopeless } from './world.ts';

/** What all worlds came to. */
export interface Totals {
  readonly worlds: number;
  /** Those that need not stop. */
  readonly toEnd: number;
  /** Those of them that ended by themselves, and their time and calls over the least. */
  readonly ended: number;
  readonly time: Spread;
  readonly calls: Spread;
  readonly wrongKept: number;
  readonly wrongFailed: number;
  readonly wrongStops: number;
  readonly missedStops: number;
  readonly runaways: number;
  readonly stuck: number;
  /** The most calls until a stop that is right from the start. */
  readonly callsToStop: number;
}

interface Spread {
  readonly median: number;
  readonly of90: number;
  readonly of95: number;
  readonly worst: number;
}

function spreadOf(ratios: readonly number[]): Spread {
  const sorted = ratios.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), of90: at(0.9), of95: at(0.95), worst: at(1) };
}

export function totalsOf(scores: readonly Score[]): Totals {
  const ended = scores.filter(isEnded);
  const sum = (of: (score: Score) => number | boolean): number =>
    scores.reduce((total, score) => total + Number(of(score)), 0);
  const stops = scores.filter(({ world, stopped }) => stopped && isHopeless(world));
  return {
    worlds: scores.length,
    toEnd: scores.filter(({ world }) => world.stop === undefined).length,
    ended: ended.length,
    time: spreadOf(ended.map(({ timeRatio }) => timeRatio)),
    calls: spreadOf(ended.map(({ callsRatio }) => callsRatio)),
    wrongKept: sum(({ wrongKept }) => wrongKept),
    wrongFailed: sum(({ wrongFailed }) => wrongFailed),
    wrongStops: sum(({ isWrongStop }) => isWrongStop),
    missedStops: sum(({ isMissedStop }) => isMissedStop),
    runaways: sum(({ isRunaway }) => isRunaway),
    stuck: sum(({ isStuck }) => isStuck),
    callsToStop: Math.max(0, ...stops.map(({ calls }) => calls)),
  };
}

function isEnded({ stopped, isStuck, isRunaway, world }: Score): boolean {
  return stopped === undefined && !isStuck && !isRunaway && world.stop === undefined;
}

const HEAD = '   time ×  calls ×   kept failed   elapsed s   least s   calls   least  world';

/** The worst worlds as lines, and what all came to. */
export function describeScores(scores: readonly Score[], most = scores.length): string {
  const worst = scores.toSorted((a, b) => badnessOf(b) - badnessOf(a)).slice(0, most);
  const { time, calls, ...totals } = totalsOf(scores);
  const { worlds, toEnd, ended, wrongKept, wrongFailed, wrongStops, missedStops } = totals;
  const inWorlds = (of: (score: Score) => number): string =>
    `in ${scores.filter((score) => of(score) > 0).length} worlds`;
  return [
    HEAD,
    ...worst.map(lineOf),
    '',
    `${worlds} worlds: of ${toEnd} that are to end, ${ended} did`,
    `                             median      90th      95th     worst`,
    `time over the least      ${columnsOf(time)}`,
    `calls over the least     ${columnsOf(calls)}`,
    `wrong verdicts kept: ${wrongKept} ${inWorlds((score) => score.wrongKept)}`,
    `failed though to be had: ${wrongFailed} ${inWorlds((score) => score.wrongFailed)}`,
    `wrong stops: ${wrongStops}; missed: ${missedStops}; most calls until one at the start: ${totals.callsToStop}`,
    `without end: ${totals.runaways}; stuck: ${totals.stuck}`,
  ].join('\n');
}

function columnsOf({ median, of90, of95, worst }: Spread): string {
  return [median, of90, of95, worst].map((ratio) => ratio.toFixed(2).padStart(10)).join('');
}

function lineOf(score: Score): string {
  const { world, least, stopped, isWrongStop, isMissedStop, isRunaway, isStuck } = score;
  const numbers = [
    score.timeRatio.toFixed(2).padStart(9),
    score.callsRatio.toFixed(2).padStart(8),
    String(score.wrongKept).padStart(6),
    String(score.wrongFailed).padStart(6),
    (score.elapsedMs / 1_000).toFixed(1).padStart(11),
    (least.ms / 1_000).toFixed(1).padStart(9),
    String(score.calls).padStart(7),
    String(least.calls).padStart(7),
  ];
  const marks = [
    isWrongStop ? 'WRONG STOP' : '',
    isMissedStop ? 'NO STOP' : '',
    isRunaway ? 'NO END' : '',
    isStuck ? 'STUCK' : '',
    stopped !== undefined && !isRunaway && !isStuck ? `(${stopped})` : '',
  ];
  return [...numbers, ` ${world.name}`, ...marks.filter((mark) => mark !== '')].join(' ');
}

/** The worst first. */
function badnessOf(score: Score): number {
  const { isWrongStop, isMissedStop, isRunaway, isStuck, wrongKept, wrongFailed } = score;
  const isBroken = isWrongStop || isMissedStop || isRunaway || isStuck;
  const ratio = score.stopped
    ? score.calls / 1_000
    : Math.max(score.timeRatio, 2 * score.callsRatio);
  return Number(isBroken) * 1e9 + 50 * wrongKept + 5 * wrongFailed + ratio;
}
