import { expect, it } from 'vitest';
import { createOwnPace } from '../../src/worker/own-pace.ts';
import { describePace, learnedOf, readLearned } from '../../src/worker/pace-memory.ts';
import { createRandom } from '../support/random.ts';

const HOUR_MS = 3_600_000;
const LIMITS = { nowMs: 1_000, maxWaitMs: 900_000 };

it('of what is a day old half the limit is left, of a longer wait than is kept nothing', () => {
  const saved = { limitPerMs: 0.02, cap: 4, statedUntilMs: 1_000_000 };
  expect(readLearned(saved, 25 * HOUR_MS, LIMITS)).toMatchObject({
    limitPerMs: 0.01,
    cap: 0,
    statedUntilMs: 0,
  });
  expect(readLearned({ limitPerMs: -1 }, 0, LIMITS)).toBeUndefined();
});

it.each([
  ['twice as fast', 0.02, { limitIs: 'learned', limitPerSecond: 10 }, 0.01],
  ['three times as fast', 0.03, { limitIs: 'unknown' }, 0],
])(
  'of a limit beside which calls go %s is told and kept what is true',
  (_, ratePerMs, is, kept) => {
    const learned = readLearned({ limitPerMs: 0.01, cap: 0, statedUntilMs: 0 }, 0, LIMITS);
    const pace = { ...createOwnPace(0, { rate: undefined, learned, epochMs: 0 }).pace, ratePerMs };
    expect(describePace(pace, undefined, 0).limit).toEqual(is);
    expect(learnedOf(pace, undefined, 0).limitPerMs).toBe(kept);
  },
);

it.each([
  ['ended in order', 'waits for its next slot', false, 1_000, 1_500],
  ['was killed within its slot', 'the same', true, 1_000, 1_500],
  ['was killed at any time since', 'waits a whole interval', true, 9_200, 10_700],
])('after a process that %s a fixed rate %s', (_, __, isUnsaved, nowMs, nextMs) => {
  const rate = { count: 40, perMs: 60_000 };
  const fixed = { rate, startsMs: [0], lastSlotMs: 0, isUnsaved };
  const saved = { limitPerMs: 0, cap: 0, statedUntilMs: 0, fixed };
  const learned = readLearned(saved, 0, { ...LIMITS, nowMs });
  expect(createOwnPace(nowMs, { rate, learned, epochMs: 0 }).nextMs(nowMs, 0)).toBe(nextMs);
});

it.each([
  ['40/min', 40, 60_000],
  ['300/min', 300, 60_000],
  ['50/s', 50, 1_000],
  ['1,000/s', 1_000, 1_000],
])('a rate of %s is kept though its process is killed again and again', (_, count, perMs) => {
  // Given processes that save what they know at their start and every 2 s, and are killed at any
  // time
  const random = createRandom(count);
  const rate = { count, perMs };
  const gapMs = perMs / count;
  const startsMs: number[] = [];
  let saved: unknown;
  for (let nowMs = 0, kills = 0; kills < 60; kills += 1) {
    const learned = readLearned(saved, 0, { ...LIMITS, nowMs });
    const home = createOwnPace(nowMs, { rate, learned, epochMs: 0 });
    const killedMs = nowMs + random() * 6_000;
    for (let savedMs = Number.NEGATIVE_INFINITY; nowMs < killedMs; ) {
      if (nowMs - savedMs >= 2_000) {
        savedMs = nowMs;
        const known = learnedOf(home.pace, home.fixed, 0);
        const fixed = known.fixed && { ...known.fixed, isUnsaved: true };
        saved = structuredClone({ ...known, fixed });
      }
      // When a call is made as soon as the rate allows it, by a timer that may be late
      const lateMs = random() < 0.1 ? random() * 30 : 0;
      const startMs = Math.max(nowMs, home.nextMs(nowMs, 0)) + lateMs;
      if (startMs <= Math.min(killedMs, savedMs + 2_000)) {
        home.start(startMs);
        startsMs.push(startMs);
      }
      nowMs = Math.min(startMs, killedMs, savedMs + 2_000);
    }
    nowMs += random() * 1_000;
  }
  // Then no window of the rate, nor any shorter time, has more calls than the rate allows
  let first = 0;
  const excess = startsMs.map((atMs, at) => {
    while ((startsMs[first] ?? 0) <= atMs - perMs) first += 1;
    return Math.max(at - first + 1 - count, at - (atMs - (startsMs[0] ?? 0)) / gapMs);
  });
  expect(Math.max(...excess)).toBeLessThan(1e-6);
  expect(startsMs.length).toBeGreaterThan(60);
});
