import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import type { Rate } from '../../src/calls/rate.ts';
import {
  exchange,
  type PaceEvent,
  type Said,
  type SharedState,
} from '../../src/worker/shared-pace.ts';
import { SEEDS, seededRandom } from '../support/random.ts';
import { useDatabase } from '../support/redis.ts';

const PLACE = new URL('../../src/worker/', import.meta.url);
const LUA = readFileSync(new URL('shared-pace.lua', PLACE), 'utf8');
const random = seededRandom('shared-pace.test.ts');

it('what runs in Redis is made from what stands here (npm run make:lua makes it anew)', () => {
  const [, names = '', hash = ''] = /from (.*) by npm[^]*?these: (\w+)/.exec(LUA) ?? [];
  const sources = names.split(', ').map((name) => readFileSync(new URL(name, PLACE), 'utf8'));
  expect(createHash('sha256').update(sources.join('')).digest('hex')).toBe(hash);
});

/** With as many digits as Redis keeps. */
const kept = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value, (_, one: unknown) =>
      typeof one === 'number' ? Number(one.toPrecision(14)) : one,
    ),
  ) as T;

/**
 * Where the two are not alike. Lua writes an empty list as an object; the last digit of `exp` may
 * differ.
 */
function differences(one: unknown, other: unknown, where = ''): string[] {
  if (typeof one === 'number' && typeof other === 'number') {
    const isNear = Math.abs(one - other) <= 1e-12 * Math.max(1, Math.abs(other));
    return isNear ? [] : [`${where}: ${one}, ${other}`];
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other ? [] : [`${where}: ${String(one)}, ${String(other)}`];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) =>
    differences(Reflect.get(one, name), Reflect.get(other, name), `${where}.${name}`),
  );
}

const RATES: readonly (Rate | undefined)[] = [
  { count: 5, perMs: 1_000 },
  { count: 300, perMs: 60_000 },
  { count: 1_000, perMs: 10_000 },
];

function eventAt(nowMs: number, round: number): PaceEvent {
  const atMs = nowMs - random.between(0, 60);
  const kind = random.next();
  if (kind < 0.02) return { how: 'resume', atMs };
  if (kind < 0.04) return { how: 'slow', ratePerMs: random.next() / 20, atMs };
  if (kind < 0.06) return { how: 'climb', ratePerMs: random.pick([0, 0.3, 1e300]) ?? 0, atMs };
  const bad = random.pick(['refused', 'failing', 'away', 'none'] as const) ?? 'none';
  const isStated = random.next() < 0.2;
  const hasQuota = round % 4 === 3 && random.next() < 0.3;
  return {
    how: random.next() < 0.85 ? 'good' : bad,
    atMs,
    sentAtMs: atMs - random.between(1, 300),
    latencyMs: random.between(0, 300),
    inFlight: random.between(1, 30),
    retryAfterMs: isStated ? random.between(100, 9_000) : undefined,
    limits: hasQuota
      ? { quota: { count: random.between(20, 30), perMs: 1_000 }, remaining: 0, resetMs: 700 }
      : undefined,
  };
}

/** Some of four workers, that come, go, state rates and fall silent. */
function saidAt(nowMs: number, round: number): Said {
  const rate = round % 3 === 2 && random.next() < 0.5 ? random.pick(RATES) : undefined;
  return {
    id: `w${random.between(1, 4)}`,
    events: Array.from({ length: random.between(0, 10) }, () => eventAt(nowMs, round)),
    want: random.between(0, 12),
    busy: random.between(0, 20),
    leadMs: random.between(0, 5),
    spanMs: random.between(50, 150),
    rate,
    startRate: round % 5 === 4 ? { count: 20, perMs: 1_000 } : undefined,
    isGone: random.next() < 0.02,
  };
}

const BATCHES = 100;
const ROUNDS = 80 * SEEDS;

it('Redis and a process make the same of the same', async () => {
  const client = new Redis((await useDatabase()).url);
  onTestFinished(() => client.disconnect());
  for (let round = 0; round < ROUNDS; round += 1) {
    let state: SharedState | undefined;
    let clockMs = random.between(0, 100_000);
    for (let batch = 0; batch < BATCHES; batch += 1) {
      clockMs += random.next() < 0.02 ? random.between(-20_000, 20_000) : random.between(0, 400);
      const said = saidAt(clockMs, round);
      const text = JSON.stringify({ ...said, clockMs });
      const there = (await client.eval(LUA, 1, `pace:${round}`, text)) as [string, string];
      const here = exchange(state, said, clockMs);
      state = kept(here.state);
      const [stateThere, grantedThere] = there;
      expect([
        ...differences(JSON.parse(stateThere), state),
        ...differences(JSON.parse(grantedThere), here.granted),
      ]).toEqual([]);
    }
  }
});
