import { expect, it } from 'vitest';
import { accepted, createPace, nextStartMs, refused, start } from '../../src/worker/pace.ts';
import { learnedOf, readLearned } from '../../src/worker/pace-memory.ts';
import { oneProcess } from '../simulation/clients.ts';
import { slidingWindow, tokenBucket } from '../simulation/servers.ts';
import { simulate } from '../simulation/simulate.ts';

const UNKNOWN = { limitPerMs: 0, cap: 0, isFixed: false };

it('what a bucket saves up while a wait is stated is not taken for its rate', () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const pace = createPace(0, UNKNOWN);
    const limit = tokenBucket(0.062, 62, { says: 'retry_after' });
    simulate({ limit, calls: 1_000, seed, serviceMs: 5 }, oneProcess(256, pace));
    expect(pace.limitPerMs).toBeGreaterThan(0.8 * 0.062);
    expect(pace.limitPerMs).toBeLessThan(1.4 * 0.062);
  }
});

it('how much a window holds is remembered, so that the next run does not look for it with refusals', () => {
  const first = createPace(0, UNKNOWN);
  const scenario = { limit: slidingWindow(200, 4_000), calls: 1_000, seed: 1, serviceMs: 5 };
  simulate(scenario, oneProcess(256, first));
  const kept: unknown = JSON.parse(JSON.stringify(learnedOf(first, undefined, 0)));
  const known = readLearned(kept, 0, { nowMs: 0, maxWaitMs: 0 });
  const next = createPace(0, { ...UNKNOWN, ...known });
  expect(next.windowCalls).toBeGreaterThan(150);
  const warm = { ...scenario, limit: slidingWindow(200, 4_000), calls: 2_400 };
  const { throttled, elapsedMs } = simulate(warm, oneProcess(256, next));
  expect(throttled).toBeLessThan(0.01);
  expect(elapsedMs).toBeLessThan(2_400 / 0.05 / 0.93);
});

it('a stated wait ends with the call that tries it, not with one that was sent before it was known', () => {
  const pace = createPace(0, { ...UNKNOWN, limitPerMs: 0.02 });
  const call = { latencyMs: 100, inFlight: 2 };
  start(pace, 1_000);
  refused(pace, { ...call, sentAtMs: 1_000, retryAfterMs: 5_000 }, 1_100);
  accepted(pace, { ...call, sentAtMs: 1_150 }, 1_250);
  expect(nextStartMs(pace, 1_300, 0)).toBe(6_100);
  start(pace, 6_100);
  expect(nextStartMs(pace, 6_150, 1)).toBe(Number.POSITIVE_INFINITY);
  accepted(pace, { ...call, sentAtMs: 6_100 }, 6_200);
  expect(nextStartMs(pace, 6_300, 0)).toBeLessThan(6_400);
});

it('what headers state is kept to in the next run as well, until they state something else', () => {
  const call = { latencyMs: 100, inFlight: 1, sentAtMs: 1_000 };
  const stating = (count: number) => ({ ...call, limits: { quota: { count, perMs: 1_000 } } });
  const first = createPace(0, UNKNOWN);
  accepted(first, stating(62), 1_100);
  const kept: unknown = JSON.parse(JSON.stringify(learnedOf(first, undefined, 0)));
  const known = readLearned(kept, 0, { nowMs: 2_000, maxWaitMs: 0 });
  const next = createPace(0, { ...UNKNOWN, ...known });
  expect(next).toMatchObject({ phase: 'published', limitPerMs: 0.062 });
  refused(next, call, 1_100);
  const slowerPerMs = next.ratePerMs;
  expect(slowerPerMs).toBeLessThan(0.062);
  accepted(next, stating(62), 1_200);
  expect(next.ratePerMs).toBe(slowerPerMs);
  accepted(next, stating(30), 1_300);
  expect(next.limitPerMs).toBe(0.03);
});
