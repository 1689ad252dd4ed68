/**
 * Plays what decides on answers and on the pace, in virtual time, through APIs of all kinds, and
 * compares it with somebody who knows them: so no server and no account is needed.
 *
 * Run it with `npm run simulate`, or `npm run simulate -- --seed 2 --only 403 --all`: with pairs of
 * that seed, only what has such a name, and a line for each world instead of the worst thirty.
 */
import { parseArgs } from 'node:util';
import { worldsOf } from '../test/simulation/catalogue.ts';
import { COLD, LONG, measureCold, measureLong, type Used } from '../test/simulation/pace.ts';
import { playAll } from '../test/simulation/play.ts';
import { describeScores, totalsOf } from '../test/simulation/report.ts';
import { missedBounds, WANTED } from '../test/simulation/targets.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    all: { type: 'boolean', default: false },
  },
});
const isWanted = ({ name }: { readonly name: string }): boolean => name.includes(values.only);

const scores = await playAll(worldsOf(Number(values.seed)).filter(isWanted));
if (scores.length > 0) {
  console.log(describeScores(scores, values.all ? scores.length : 30));
  const missed = missedBounds(totalsOf(scores), WANTED);
  console.log(missed.length === 0 ? 'All is as wanted.' : `Not as wanted: ${missed.join('; ')}`);
}

const SEEDS = 4;
console.log(`\nUsed of a limit by one worker, and calls refused, in %: means of ${SEEDS} runs`);
for (const cell of LONG.filter(isWanted)) printUsed(cell.name, await measureLong(cell, SEEDS));
console.log('\nThe same in the first 45 s of a cold start, from the second window on');
for (const cell of COLD.filter(isWanted)) printUsed(cell.name, await measureCold(cell, SEEDS));

function printUsed(name: string, { used, refused }: Used): void {
  const percent = (share: number): string => (share * 100).toFixed(1).padStart(7);
  console.log(name.padEnd(40), percent(used), percent(refused));
}
