/**
 * Plays what decides on answers and on the pace, in virtual time, through APIs of all kinds, and
 * compares it with somebody who knows them: so no server and no account is needed.
 *
 * Run it with `npm run simulate`, or `npm run simulate -- --seed 2 --only 403 --all`: with pairs of
 * that seed, only what has such a name, and a line for each world instead of the worst thirty.
 */
import { parseArgs } from 'node:util';
import { worldsOf } from '../test/simulation/catalogue.ts';
import { openFleet } from '../test/simulation/fleet.ts';
import { COLD, LONG, measureCold, measureLong } from '../test/simulation/pace.ts';
import { playAll } from '../test/simulation/play.ts';
import { describeTotals, describeWorlds, totalsOf } from '../test/simulation/report.ts';
import { WANTED } from '../test/simulation/targets.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    all: { type: 'boolean', default: false },
    fleet: { type: 'boolean', default: false },
  },
});
const isChosen = ({ name }: { readonly name: string }): boolean => name.includes(values.only);

const worlds = worldsOf(Number(values.seed)).filter(isChosen);
const scores = await playAll(worlds, values.fleet ? { open: openFleet } : {});
console.log(describeWorlds(scores, values.all ? scores.length : 30));
console.log(`\n${`of ${scores.length} worlds`.padEnd(38)}       is   wanted`);
console.log(describeTotals(totalsOf(scores), WANTED));

const SEEDS = 4;
const families = [
  ['once warm', LONG, measureLong],
  ['in the first 45 s', COLD, measureCold],
] as const;
for (const [when, family, measure] of families) {
  console.log(`\nUsed of a limit ${when}, and calls refused, in %: means of ${SEEDS} runs`);
  for (const paced of family.filter(isChosen)) {
    const { used, refused } = await measure(paced, SEEDS);
    const percent = (share: number): string => (share * 100).toFixed(1).padStart(7);
    console.log(paced.name.padEnd(40), percent(used), percent(refused));
  }
}
