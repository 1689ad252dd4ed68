import { describe, expect, it } from 'vitest';
import { createPaceState } from '../../src/pace/pacer.ts';
import { createTurnstile } from '../../src/pace/turnstile.ts';
import { createWaitMeter } from '../../src/pace/wait-meter.ts';
import { createFakeClock } from '../support/fake-clock.ts';

function createMetered() {
  const clock = createFakeClock();
  const inner = createTurnstile({ clock, random: () => 0 });
  const { turnstile, waitedMs } = createWaitMeter(inner, clock);
  const throttle = (retryAfterMs?: number): number =>
    turnstile.report({ kind: 'throttled', sentAtMs: clock.nowMs(), retryAfterMs });
  return { clock, turnstile, waitedMs, throttle };
}

describe('the meter of waits', () => {
  it('counts nothing while calls may start', async () => {
    const { clock, turnstile, waitedMs } = createMetered();
    for (let call = 0; call < 5; call += 1) {
      await turnstile.enter(new AbortController().signal);
      turnstile.report({ kind: 'accepted', sentAtMs: clock.nowMs() });
      await clock.advance(1_000);
    }
    expect(waitedMs()).toEqual({ told: 0, backingOff: 0 });
  });

  it('counts a wait that was told once, however many calls were told it', async () => {
    const { clock, waitedMs, throttle } = createMetered();
    for (let call = 0; call < 30; call += 1) throttle(5_000);
    await clock.advance(2_000);
    expect(waitedMs()).toEqual({ told: 2_000, backingOff: 0 });
    for (let call = 0; call < 30; call += 1) throttle(3_000);
    await clock.advance(60_000);
    expect(waitedMs()).toEqual({ told: 5_000, backingOff: 0 });
  });

  it('counts a wait that was made longer from its beginning to its new end', async () => {
    const { clock, waitedMs, throttle } = createMetered();
    throttle(1_000);
    await clock.advance(400);
    throttle(2_000);
    await clock.advance(60_000);
    expect(waitedMs().told).toBe(2_400);
  });

  it('tells backing off from being told', async () => {
    const { clock, waitedMs, throttle } = createMetered();
    const closedMs = throttle();
    expect(closedMs).toBeGreaterThan(0);
    await clock.advance(60_000);
    expect(waitedMs().backingOff).toBeCloseTo(closedMs);
    throttle(700);
    await clock.advance(60_000);
    expect(waitedMs().told).toBeCloseTo(700);
    expect(waitedMs().backingOff).toBeCloseTo(closedMs);
  });

  it('counts what is left of a wait that an earlier run was told', async () => {
    const clock = createFakeClock();
    const state = createPaceState({}, 0);
    state.gateUntilMs = 8_000;
    state.gateIsTold = true;
    const { waitedMs } = createWaitMeter(createTurnstile({ clock, state }), clock);
    await clock.advance(60_000);
    expect(waitedMs()).toEqual({ told: 8_000, backingOff: 0 });
  });
});
