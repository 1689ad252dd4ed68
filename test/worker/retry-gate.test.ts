import { expect, it } from 'vitest';
import { createRetryGate } from '../../src/guard/retry-budget.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { createFakeClock } from '../support/fake-clock.ts';

// More listeners than Node.js expects: it would warn, and others' tests would find that on standard error.
const never = createStopSwitch().noNewCall;

it('measures for how long retries were held up: once, however many were', async () => {
  const clock = createFakeClock();
  const gate = createRetryGate(clock);
  for (let retry = 0; retry < 100; retry += 1) await gate.pass(never);
  expect(gate.waitedMs()).toBe(0);
  // Ten a second from now on, for twenty who come at once.
  const passed = Promise.all(Array.from({ length: 20 }, () => gate.pass(never)));
  await clock.advance(1_000);
  expect(gate.waitedMs()).toBeCloseTo(1_000, -1);
  await clock.advance(60_000);
  await passed;
  expect(gate.waitedMs()).toBeGreaterThan(1_500);
  expect(gate.waitedMs()).toBeLessThan(3_000);
});

it('does not count on for one who gave up', async () => {
  const clock = createFakeClock();
  const gate = createRetryGate(clock);
  for (let retry = 0; retry < 100; retry += 1) await gate.pass(never);
  const giveUp = new AbortController();
  const passing = gate.pass(giveUp.signal);
  await clock.advance(20);
  giveUp.abort(new Error('enough'));
  await expect(passing).rejects.toThrow('enough');
  await clock.advance(5_000);
  expect(gate.waitedMs()).toBe(20);
});
