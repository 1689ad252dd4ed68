import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createOwnPace, type PaceHome } from '../../src/worker/gate.ts';
import {
  accepted,
  createPace,
  ended,
  forget,
  nextStartMs,
  type Pace,
  refused,
  start,
} from '../../src/worker/pace.ts';
import { PACE_SCRIPT } from '../../src/worker/pace-script.ts';
import { play } from '../simulation/play.ts';
import { FOREVER, type Limit, limit, type World } from '../simulation/world.ts';
import { seededRandom } from '../support/random.ts';
import { useDatabase } from '../support/redis.ts';

const random = seededRandom('shared-pace.test.ts');

/** Numbers lose their last digits in JSON. When a test began is of no use after it. */
function differences(one: object, other: object): string[] {
  return Object.entries(other).flatMap(([name, value]) => {
    const its: unknown = Reflect.get(one, name);
    if (typeof value === 'object') return differences(its as object, value as object);
    if (name === 'testMs' && Reflect.get(other, 'state') !== 'testing') return [];
    const isNumber = typeof value === 'number' && typeof its === 'number';
    const isAlike = isNumber
      ? Math.abs(its - value) <= 1e-6 * Math.max(1, Math.abs(value))
      : its === value;
    return isAlike ? [] : [`${name}: ${String(its)} and ${String(value)}`];
  });
}

interface Told {
  readonly nowMs: number;
  readonly events: readonly object[];
  readonly inFlight: number;
  readonly want: number;
}

interface Reply {
  readonly starts: { readonly length?: number };
  readonly pace: Pace;
}

/** Tells a pace in Redis what one of a process was told; returns what it answered each time. */
async function replay(steps: readonly Told[]): Promise<Reply[]> {
  const client = new Redis((await useDatabase()).url);
  onTestFinished(() => client.disconnect());
  const tell = async ({ nowMs: now, events, inFlight: busy, want }: Told): Promise<Reply> => {
    const said = JSON.stringify({ now, events, want, busy, lead: 0, span: ROUNDED_MS });
    return JSON.parse(String(await client.eval(PACE_SCRIPT, 1, 'pace', 'w', said))) as Reply;
  };
  const first = { nowMs: 0, events: [], inFlight: 0, want: 0 };
  return (await Promise.all([first, ...steps].map(tell))).slice(1);
}

async function expectSame(steps: readonly Told[], paces: readonly Pace[]): Promise<void> {
  for (const [at, { starts, pace }] of (await replay(steps)).entries()) {
    expect([starts.length ?? 0, ...differences(pace, paces[at] ?? {})]).toEqual([steps[at]?.want]);
  }
}

/** Numbers of Redis are a little less exact. */
const ROUNDED_MS = 0.01;
const UNKNOWN = { limitPerMs: 0, cap: 0, isFixed: false };

/** A pace of this process that notes what it is told, and what it then is. */
function notingPace() {
  const home = createOwnPace(0, { rate: undefined, learned: undefined, epochMs: 0 });
  const steps: (Told & { want: number })[] = [];
  const paces: Pace[] = [];
  let inFlight = 0;
  const note = (nowMs: number, events: readonly object[]): void => {
    steps.push({ nowMs, events, inFlight, want: 0 });
  };
  const noting: PaceHome = {
    ...home,
    start: (nowMs) => {
      if (steps.at(-1)?.nowMs !== nowMs) note(nowMs, []);
      home.start(nowMs);
      inFlight += 1;
      const step = steps.at(-1);
      if (step) step.want += 1;
      paces[steps.length - 1] = { ...home.pace };
    },
    ended: (how, call, nowMs) => {
      home.ended(how, call, nowMs);
      inFlight -= 1;
      note(nowMs, [{ ...call, how, atMs: nowMs }]);
      paces[steps.length - 1] = { ...home.pace };
    },
    forget: (nowMs) => {
      home.forget(nowMs);
      note(nowMs, [{ how: 'forget', atMs: nowMs }]);
      paces[steps.length - 1] = { ...home.pace };
    },
  };
  return { noting, steps, paces };
}

describe('the pace in Redis learns from the same calls the same numbers as the one of a process', () => {
  const waits = { headers: 'retry-after' } as const;
  const change = { atMs: 9_000, factor: 10 };
  const out = [{ reply: '503', share: 1, fromMs: 1_000, forMs: 9_000 }] as const;
  const failing = [{ reply: '500', share: 0.02, fromMs: 0, forMs: FOREVER }] as const;
  const servers: [string, Limit, Partial<World>?][] = [
    ['a bucket', limit('bucket', 50, 1), { troubles: failing }],
    ['a bucket that states waits', limit('bucket', 50, 1, { burst: 5, ...waits })],
    ['a fixed window', limit('fixed', 30, 2)],
    ['one that states waits', limit('fixed', 30, 4, waits)],
    ['one that claims too much', limit('fixed', 20, 2, { headers: 'ratelimit', claims: 4 })],
    ['a sliding window', limit('sliding', 50, 1, { headers: 'x-ratelimit' })],
    ['a penalty', limit('bucket', 30, 1, { penaltyMs: 5_000, ...waits })],
    ['so many at once', limit('at_once', 4, 1), { spread: 1 }],
    ['a limit that grows', limit('bucket', 20, 1), { change }],
    ['a limit told by failures', limit('fixed', 40, 8, { told: '503' })],
    ['an outage', limit('bucket', 100, 1), { troubles: out }],
    ['slow answers', limit('bucket', 20, 1), { latencyMs: 3_000 }],
  ];
  it.each(servers)('%s', async (name, one, more = {}) => {
    const { noting, steps, paces } = notingPace();
    const world = { name, domains: 250, callers: 64, latencyMs: 120, limits: [one], ...more };
    const { score } = await play(world, { home: noting });
    expect(score.missing).toBe(0);
    await expectSame(steps, paces);
  });
});

it('and from any others', async () => {
  for (let round = 0; round < 8; round += 1) {
    const pace = createPace(0, UNKNOWN);
    const steps: Told[] = [];
    const paces: Pace[] = [];
    let nowMs = 0;
    for (let step = 0; step < 150; step += 1) {
      nowMs += random.between(1, 80);
      const sentAtMs = nowMs - random.between(1, 200);
      const isGood = random.next() < 0.8;
      const how = isGood
        ? 'good'
        : (random.pick(['refused', 'failing', 'away', 'forget', 'none'] as const) ?? 'none');
      const told = random.next() < 0.2 ? { retryAfterMs: random.between(100, 9_000) } : {};
      // Headers state one quota, and later another one.
      const count = step < 100 ? 20 : 30;
      const quota = round % 4 === 3 ? { limits: { quota: { count, perMs: 1_000 } } } : {};
      const inFlight = random.between(1, 30);
      const isAgain = random.next() < 0.2;
      const latencyMs = nowMs - sentAtMs;
      const event = { sentAtMs, latencyMs, inFlight, isAgain, ...told, ...quota };
      if (how === 'good') accepted(pace, event, nowMs);
      else if (how === 'none') ended(pace, sentAtMs);
      else if (how === 'forget') forget(pace, nowMs);
      else refused(pace, event, nowMs, how);
      const isDue = nextStartMs(pace, nowMs, inFlight) <= nowMs;
      if (isDue) start(pace, nowMs);
      const events = [{ ...event, how, atMs: nowMs }];
      steps.push({ nowMs, events, inFlight, want: Number(isDue) });
      paces.push({ ...pace });
    }
    await expectSame(steps, paces);
  }
});

it('a rate that nobody states for a moment, between two jobs, is kept to when it is stated again', async () => {
  const client = new Redis((await useDatabase()).url);
  onTestFinished(() => client.disconnect());
  const ask = async (now: number, want: number, rate?: object): Promise<unknown> => {
    const said = { now, events: [], want, busy: 0, lead: 0, span: 100, rate };
    const reply = await client.eval(PACE_SCRIPT, 1, 'pace:rate', 'w', JSON.stringify(said));
    return (JSON.parse(String(reply)) as { readonly starts: unknown }).starts;
  };
  const rate = { count: 5, perMs: 1_000 };
  expect(await ask(10_000, 9, rate)).toEqual([10_000, 10_000]);
  await ask(10_010, 0);
  expect(await ask(10_150, 1, rate)).toEqual([10_200]);
});
