import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
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
import { oneProcess, type ProcessOptions, type Step } from '../simulation/clients.ts';
import {
  allOf,
  concurrentCalls,
  fixedWindow,
  type Limit,
  penalized,
  slidingWindow,
  tokenBucket,
} from '../simulation/servers.ts';
import { type Scenario, simulate } from '../simulation/simulate.ts';
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

const opensLate: Limit = { arrive: (nowMs) => ({ isAccepted: nowMs > 2_000 }) };

describe('the pace in Redis learns from the same calls the same numbers as the one of a process', () => {
  const servers: [string, () => Limit, Partial<Scenario & ProcessOptions>?][] = [
    ['a bucket', () => tokenBucket(0.05, 10), { errors: 0.02 }],
    ['a bucket that states waits', () => tokenBucket(0.05, 5, { says: 'retry_after' })],
    ['a fixed window', () => fixedWindow(30, 2_000), { serviceMs: 5 }],
    ['one that states waits', () => fixedWindow(30, 4_000, { says: 'retry_after' })],
    ['one that claims too much', () => fixedWindow(20, 2_000, { says: 'ratelimit', claims: 4 })],
    ['a sliding window', () => slidingWindow(50, 1_000, { says: 'x_ratelimit' })],
    ['a penalty', () => penalized(tokenBucket(0.03, 30), 5_000)],
    ['so many at once', () => concurrentCalls(4), { calls: 300, spread: 1 }],
    ['one that opens late', () => allOf([opensLate, tokenBucket(0.05, 5)])],
    ['a limit that grows', () => tokenBucket((ms) => (ms < 9_000 ? 0.02 : 0.2), 5)],
    ['failures beyond a limit', () => fixedWindow(40, 8_000), { how: 'failing' }],
    ['an outage', () => tokenBucket((ms) => (ms % 20_000 < 9_000 ? 0 : 0.1), 5), { how: 'away' }],
    ['slow answers', () => tokenBucket(0.02, 20), { serviceMs: 3_000 }],
  ];
  it.each(servers)('%s', async (_, limit, { how, ...scenario } = {}) => {
    const pace = createPace(0, UNKNOWN);
    const steps: Told[] = [];
    const paces: Pace[] = [];
    const onStep = ({ nowMs, end, inFlight, started }: Step): void => {
      const events = end ? [{ ...end.call, how: end.how, atMs: nowMs }] : [];
      steps.push({ nowMs, events, inFlight, want: started });
      paces.push({ ...pace });
    };
    const client = oneProcess(64, pace, { ...(how && { how }), onStep });
    const world = { limit: limit(), calls: 250, seed: 1, serviceMs: 100, ...scenario };
    expect(simulate(world, client).isComplete).toBe(true);
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
