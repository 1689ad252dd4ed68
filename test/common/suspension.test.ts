import { expect, it } from 'vitest';
import { holdSuspension, suspendWhenFree } from '../../src/common/lifetime.ts';

it('stops at once, or when the last of those is done for whom it waits', () => {
  let stops = 0;
  const stop = (): void => void (stops += 1);
  suspendWhenFree(stop);
  expect(stops).toBe(1);
  const ends = [holdSuspension(), holdSuspension()];
  suspendWhenFree(stop);
  suspendWhenFree(stop); // pressed again
  ends[0]?.();
  expect(stops).toBe(1);
  ends[1]?.();
  expect(stops).toBe(2);
  holdSuspension()();
  expect(stops).toBe(2);
});
