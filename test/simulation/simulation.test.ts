import { describe, expect, it } from 'vitest';
import { isByDay, SEEDS } from '../support/random.ts';
import { worldsOf } from './catalogue.ts';
import { COLD, LONG, measureCold, measureLong } from './pace.ts';
import { playAll } from './play.ts';
import { describeTotals, describeWorlds, totalsOf } from './report.ts';
import { ALL, TENTH } from './targets.ts';
import type { World } from './world.ts';

const LONG_MS = 20 * 60_000;

/** Says how the worlds ended, which of them worst, and where that is worse than it was. */
async function judge(worlds: readonly World[], bounds: typeof ALL): Promise<string> {
  const scores = await playAll(worlds);
  const totals = describeTotals(totalsOf(scores), bounds);
  console.log(`${describeWorlds(scores, 30)}\n\n${totals}`);
  return totals;
}

describe('against somebody who knows the world', () => {
  it('a tenth of the worlds is played as well as before', async () => {
    const tenth = worldsOf(1).filter((_, at) => at % 10 === 0);
    expect(await judge(tenth, TENTH)).not.toContain('MORE');
  });

  const seeds = isByDay('nine tenths of the worlds') ? [] : [1, 2, 3];
  it.each(seeds)(
    'all worlds of seed %i are',
    async (seed) => {
      expect(await judge(worldsOf(seed), ALL)).not.toContain('MORE');
    },
    LONG_MS,
  );
});

describe('one worker uses a limit, and is seldom refused', () => {
  const families = [
    ['once warm', LONG, measureLong, { used: 0.93, refused: 0.015 }],
    ['from cold', COLD, measureCold, { used: 0.9, refused: 0.09 }],
  ] as const;
  describe.each(families)('%s', (_, family, measure, usual) => {
    it.each(family)('$name', async (paced) => {
      const target = { ...usual, ...paced };
      const { used, refused } = await measure(paced, SEEDS);
      expect(used).toBeGreaterThanOrEqual(target.used);
      expect(refused).toBeLessThan(target.refused);
    });
  });
});
