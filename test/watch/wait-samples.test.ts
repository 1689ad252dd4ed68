import { expect, it } from 'vitest';
import type { PaceDescription } from '../../src/pace/pacer.ts';
import { createWaitSamples } from '../../src/watch/waits.ts';

function paceOf(why: PaceDescription['why']): PaceDescription {
  return { limitIs: 'unknown', ratePerSecond: 1, waitMs: 0, why };
}

it('counts the time between two looks for what holds at the second', () => {
  const samples = createWaitSamples();
  samples.look({ pace: undefined, elapsedMs: 250, isOut: false });
  samples.look({ pace: paceOf('told_to_wait'), elapsedMs: 500, isOut: false });
  samples.look({ pace: paceOf('backing_off'), elapsedMs: 760, isOut: true });
  samples.look({ pace: paceOf('backing_off'), elapsedMs: 1_000, isOut: true });
  samples.look({ pace: paceOf('probing'), elapsedMs: 9_000, isOut: false });
  expect(samples.waitedMs).toEqual({ told: 250, backingOff: 500, outage: 500 });
});
