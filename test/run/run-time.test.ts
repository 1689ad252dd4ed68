import { expect, it } from 'vitest';
import { createRunTime } from '../../src/run/open.ts';

it('the time of a run stands still while a clock that was set back catches up', () => {
  const times = [1_000, 1_500, 900, 1_499, 1_600];
  const now = createRunTime(() => times.shift() ?? 0);
  expect([now(), now(), now(), now(), now()]).toEqual([1_000, 1_500, 1_500, 1_500, 1_600]);
});
