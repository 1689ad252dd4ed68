import { describe, expect, it } from 'vitest';
import { isByDay, SEEDS } from '../support/random.ts';
import { worldsOf } from './catalogue.ts';
import { COLD, LONG, measureCold, measureLong } from './pace.ts';
import { playAll } from './play.ts';
import { describeScores, totalsOf } from './report.ts';
import { ALL, coldTarget, longTarget, missedBounds, TENTH } from './targets.ts';

const LONG_MS = 15 * 60_000;
const SOME = 10;

describe('against somebody who knows the world', () => {
  it('a tenth of the worlds is played as well as before', async () => {
    const scores = await playAll(worldsOf(1).filter((_, at) => at % SOME === 0));
    console.log(describeScores(scores));
    expect(missedBounds(totalsOf(scores), TENTH)).toEqual([]);
  });

  const seeds = isByDay('nine tenths of the worlds') ? [] : [1, 2, 3];
  it.each(seeds)(
    'all worlds of seed %i are',
    async (seed) => {
      const scores = await playAll(worldsOf(seed));
      console.log(describeScores(scores, 30));
      expect(missedBounds(totalsOf(scores), ALL)).toEqual([]);
    },
    LONG_MS,
  );
});

describe('one worker uses a limit, and is seldom refused', () => {
  it.each(LONG)('$name', async (cell) => {
    const target = longTarget(cell.name);
    const { used, refused } = await measureLong(cell, SEEDS);
    expect(used).toBeGreaterThanOrEqual(target.used);
    expect(refused).toBeLessThan(target.refused);
  });

  it.each(COLD)('$name, within the first windows', async (cell) => {
    const target = coldTarget(cell.name);
    const { used, refused } = await measureCold(cell, SEEDS);
    expect(used).toBeGreaterThanOrEqual(target.used);
    expect(refused).toBeLessThan(target.refused);
  });
});
