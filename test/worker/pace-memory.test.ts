import { expect, it } from 'vitest';
import { readLearned } from '../../src/worker/pace-memory.ts';

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

it.each<[string, number | undefined, number, readonly number[]]>([
  ['that ended in order', undefined, 2_000, [900]],
  ['that saved a second ago, and was killed since', 1_000, 2_000, [900, 1_500, 2_000]],
  ['that was killed at any time since', 8_000, 9_000, [900, 8_500, 9_000]],
  ['that is dated ahead', 5_000, 2_000, [900]],
])(
  'a fixed rate also counts what a process may have started: one %s',
  (_, unsavedFromMs, nowMs, starts) => {
    const fixed = { rate: { count: 2, perMs: 1_000 }, startsMs: [900, 99_000], unsavedFromMs };
    const saved = { limitPerMs: 0, cap: 0, statedUntilMs: 0, fixed };
    expect(readLearned(saved, 0, { ...LIMITS, nowMs })?.fixed?.startsMs).toEqual(starts);
  },
);
