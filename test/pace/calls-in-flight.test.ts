import { expect, it } from 'vitest';
import { createCallsInFlight } from '../../src/pace/calls-in-flight.ts';

it('the call that ends is the one that was sent then', () => {
  const calls = createCallsInFlight();
  for (const atMs of [0, 10, 20]) calls.start(atMs);
  expect(calls.end(11)).toBe(2);
  expect(calls.sentAtMs(30)).toEqual([0, 20]);
});

it('a call that was taken for lost ends no other one', () => {
  const calls = createCallsInFlight();
  calls.start(0);
  calls.start(290_000);
  expect(calls.count(301_000)).toBe(1);
  calls.end(0);
  expect(calls.sentAtMs(302_000)).toEqual([290_000]);
});
