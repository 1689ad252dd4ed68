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
