import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isByDay, SEEDS } from '../support/random.ts';
import { useDatabase } from '../support/redis.ts';
import { worldsOf } from './catalogue.ts';
import { createRedisKeeper, openFleet } from './fleet.ts';
import { COLD, LONG, measureCold, measureLong } from './pace.ts';
import { type PlayOptions, playAll } from './play.ts';
import { describeTotals, describeWorlds, totalsOf } from './report.ts';
import { ALL, FLEET_ALL, FLEET_SOME, TENTH, type Totals } from './targets.ts';
import { limit, type World } from './world.ts';

const LONG_MS = 20 * 60_000;

/** Says how the worlds ended, which of them worst, and where that is worse than it was. */
async function judge(
  worlds: readonly World[],
  bounds: Totals,
  options: PlayOptions = {},
): Promise<string> {
  const scores = await playAll(worlds, options);
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

describe('where the head of a list is refused, and one node of four refuses all', () => {
  const world = worldsOf(1).find(({ name }) => name === 'D a node 403, 10 % own 403 first');
  it.each([1, 2, 3, 4, 5, 6])('hardly a domain is told wrong: %i', async (number) => {
    if (!world) throw new Error('the world has another name');
    const [score] = await playAll([{ ...world, name: `${world.name} #${number}` }]);
    expect(score).toMatchObject({ how: 'done', stopped: undefined });
    // Of 2,000; it was up to 160, and as many failed.
    expect(score?.wrongKept).toBeLessThan(10);
    expect(score?.wrongFailed).toBeLessThan(10);
    expect(score?.elapsedMs).toBeLessThan(60_000);
  });
});

describe('where one domain of ten has an answer of its own that is a 429, beside a limit', () => {
  const world = worldsOf(1).find(({ name }) => name === 'D 15/s, 10 % own 429');
  it.each([1, 2, 3])('no other fails for having been asked too fast: %i', async (number) => {
    if (!world) throw new Error('the world has another name');
    const [score] = await playAll([{ ...world, name: `${world.name} #${number}` }]);
    // Of 450; it was up to 39.
    expect(score).toMatchObject({ how: 'done', wrongKept: 0, wrongFailed: 0 });
  });
});

describe('where --rate is twice what a limit allows that is told by 403', () => {
  it.each([1, 2, 3])('no domain is told refused: %i', async (number) => {
    const limits = [limit('bucket', 20, 1, { burst: 20, told: '403' })];
    const world = {
      name: `twice the limit ${number}`,
      domains: 300,
      callers: 64,
      latencyMs: 100,
      rate: { count: 40, perMs: 1_000 },
      limits,
    };
    const [score] = await playAll([world]);
    expect(score).toMatchObject({ how: 'done', wrongKept: 0, wrongFailed: 0 });
  });
});

describe('a list that is hardly longer than what a limit told by 403 has saved up', () => {
  it.each([1, 2, 3, 4])('has no domain that is told refused: %i', async (number) => {
    const limits = [limit('bucket', 12, 1, { burst: 24, told: '403' })];
    const world = {
      name: `a short list ${number}`,
      domains: 30,
      callers: 64,
      latencyMs: 2,
      limits,
    };
    const [score] = await playAll([world]);
    expect(score).toMatchObject({ how: 'done', wrongKept: 0, wrongFailed: 0 });
  });
});

describe('a limit told by 503 that says for how long to wait is no outage', () => {
  const told = { told: '503', headers: 'retry-after' } as const;
  it.each([
    ['one call at a time', limit('bucket', 53, 1, { ...told, burst: 1 })],
    ['twenty a second, none saved up', limit('leaky', 20, 1, told)],
  ])('%s', async (name, one) => {
    const world = { name, domains: 300, callers: 64, latencyMs: 20, limits: [one] };
    const [score] = await playAll([world]);
    expect(score).toMatchObject({ how: 'done', wrongKept: 0, wrongFailed: 0 });
    // It was more than a second for each domain.
    expect((score?.elapsedMs ?? 0) / (score?.least.ms ?? 1)).toBeLessThan(4);
  });
});

describe('four workers whose pace is in Redis', () => {
  const share = isByDay('nineteen of twenty worlds of a fleet') ? 20 : 1;
  it(
    'play as well as before',
    async () => {
      const client = new Redis((await useDatabase()).url);
      onTestFinished(() => client.disconnect());
      const some = worldsOf(1).filter((_, at) => at % share === 0);
      const open: PlayOptions['open'] = (world, options) =>
        openFleet(world, options, createRedisKeeper(client));
      const bounds = share === 1 ? FLEET_ALL : FLEET_SOME;
      expect(await judge(some, bounds, { open })).not.toContain('MORE');
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
