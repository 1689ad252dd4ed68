import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRetryBudget,
  createRetryTokens,
  mayRetry,
  onCall,
  onRetry,
  type RetryTokens,
} from '../../src/guard/retry-budget.ts';
import { createFailedShare } from '../../src/run/lookups/open-lookups.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { createFakeClock } from '../support/fake-clock.ts';

/** Retries as often as the budget lets, until a time; returns how often that was. */
function retryUntil(budget: RetryTokens, fromMs: number, untilMs: number): number {
  let retries = 0;
  for (let nowMs = fromMs; ; retries += 1) {
    let { atMs } = mayRetry(budget, nowMs);
    while (atMs > nowMs) {
      nowMs = atMs;
      ({ atMs } = mayRetry(budget, nowMs));
    }
    if (nowMs >= untilMs) return retries;
    onRetry(budget, nowMs);
  }
}

describe('the budget of retries', () => {
  it('lets a hundred go at once, for that is no storm', () => {
    const budget = createRetryTokens();
    for (let retry = 0; retry < 100; retry += 1) {
      expect(mayRetry(budget, 0)).toEqual({ atMs: 0 });
      onRetry(budget, 0);
    }
    expect(mayRetry(budget, 0).atMs).toBeGreaterThan(90);
  });

  it('is ten a second where there are no calls', () => {
    const budget = createRetryTokens();
    retryUntil(budget, 0, 10_000);
    const retries = retryUntil(budget, 10_000, 70_000);
    expect(retries).toBeGreaterThan(560);
    expect(retries).toBeLessThanOrEqual(601);
  });

  it('is a fifth of the calls besides', () => {
    const budget = createRetryTokens();
    let retries = 0;
    for (let nowMs = 0; nowMs < 100_000; nowMs += 1) {
      onCall(budget, nowMs); // a thousand a second
      if (mayRetry(budget, nowMs).atMs > nowMs) continue;
      onRetry(budget, nowMs);
      retries += 1;
    }
    expect(retries / 100).toBeGreaterThan(205);
    expect(retries / 100).toBeLessThanOrEqual(211);
  });

  it('holds nobody back who retries a tenth of 15,000 calls a second, in bursts', () => {
    const budget = createRetryTokens();
    let held = 0;
    for (let nowMs = 0; nowMs < 20_000; nowMs += 1) {
      for (let call = 0; call < 15; call += 1) onCall(budget, nowMs);
      if (nowMs % 1_000 !== 999) continue;
      for (let retry = 0; retry < 1_500; retry += 1) {
        if (mayRetry(budget, nowMs).atMs !== nowMs) held += 1;
        onRetry(budget, nowMs);
      }
    }
    expect(held).toBe(0);
  });

  it('forgets what a busy hour saved up', () => {
    const budget = createRetryTokens();
    for (let nowMs = 0; nowMs < 60_000; nowMs += 1) onCall(budget, nowMs);
    expect(budget.tokens).toBeGreaterThan(2_000);
    expect(retryUntil(budget, 120_000, 120_001)).toBeLessThan(120);
  });
});

describe('the budget of retries and the clock', () => {
  it('credits no time twice when reports come a little out of order', () => {
    const budget = createRetryTokens();
    for (let retry = 0; retry < 100; retry += 1) onRetry(budget, 1_000);
    for (let report = 0; report < 50; report += 1) {
      onRetry(budget, 500);
      onRetry(budget, 1_000);
    }
    expect(budget.tokens).toBe(0);
  });

  it('still bounds retries when the clock was set back', () => {
    const budget = createRetryTokens();
    onCall(budget, 1e9);
    let retries = 0;
    for (; mayRetry(budget, 0).atMs <= 0 && retries < 1_000; retries += 1) onRetry(budget, 0);
    expect(retries).toBeLessThanOrEqual(101);
  });
});

type Event =
  | { readonly kind: 'call' | 'retry'; readonly count: number }
  | { readonly kind: 'pass' | 'jump'; readonly ms: number };

const events = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('call' as const, 'retry' as const), count: fc.nat(300) }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(20_000) }),
    fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -1e10, max: 1e10 }) }),
  ),
  { maxLength: 50 },
);

function play(all: readonly Event[]): { budget: RetryTokens; nowMs: number } {
  const budget = createRetryTokens();
  let nowMs = 1e10;
  for (const event of all) {
    if ('ms' in event) nowMs += event.ms;
    else {
      const report = event.kind === 'call' ? onCall : onRetry;
      for (let n = 0; n < event.count; n += 1) report(budget, nowMs);
    }
  }
  return { budget, nowMs };
}

describe('the budget of retries, whatever happens', () => {
  it('lets the next retry go within a second or so, however the clock jumped', () => {
    fc.assert(
      fc.property(events, (all) => {
        const { budget, nowMs } = play(all);
        let askedAtMs = nowMs;
        for (let { atMs } = mayRetry(budget, nowMs); atMs > askedAtMs; ) {
          askedAtMs = atMs;
          ({ atMs } = mayRetry(budget, askedAtMs));
        }
        expect(askedAtMs - nowMs).toBeLessThanOrEqual(1_200);
      }),
      { numRuns: 300 },
    );
  });

  it('is the same after a trip through JSON', () => {
    fc.assert(
      fc.property(events, (all) => {
        const { budget } = play(all);
        expect(JSON.parse(JSON.stringify(budget))).toStrictEqual(budget);
      }),
    );
  });

  it('is never more than a fifth of the calls, ten a second and the first hundred', () => {
    const steps = fc.array(
      fc.record({ passMs: fc.nat(5_000), calls: fc.nat(200), wanted: fc.nat(200) }),
    );
    fc.assert(
      fc.property(steps, (all) => {
        const budget = createRetryTokens();
        let nowMs = 0;
        let calls = 0;
        let retries = 0;
        for (const { passMs, calls: made, wanted } of all) {
          nowMs += passMs;
          for (let n = 0; n < made; n += 1) onCall(budget, nowMs);
          calls += made;
          for (let n = 0; n < wanted && mayRetry(budget, nowMs).atMs <= nowMs; n += 1) {
            onRetry(budget, nowMs);
            retries += 1;
          }
          // Time is credited from the first event on.
          expect(retries).toBeLessThanOrEqual(calls / 5 + nowMs / 100 + 100);
        }
      }),
    );
  });
});

// More listeners than Node.js expects: it would warn, and others' tests would find that on standard error.
const never = createStopSwitch().noNewCall;

it('measures for how long retries were held up: once, however many were', async () => {
  const clock = createFakeClock();
  const gate = createRetryBudget(clock);
  for (let retry = 0; retry < 100; retry += 1) await gate.acquire(never);
  expect(gate.waitedMs()).toBe(0);
  // Ten a second from now on, for twenty who come at once.
  const passed = Promise.all(Array.from({ length: 20 }, () => gate.acquire(never)));
  await clock.advance(1_000);
  expect(gate.waitedMs()).toBeCloseTo(1_000, -1);
  await clock.advance(60_000);
  await passed;
  expect(gate.waitedMs()).toBeGreaterThan(1_500);
  expect(gate.waitedMs()).toBeLessThan(3_000);
});

it('does not count on for one who gave up', async () => {
  const clock = createFakeClock();
  const gate = createRetryBudget(clock);
  for (let retry = 0; retry < 100; retry += 1) await gate.acquire(never);
  const giveUp = new AbortController();
  const passing = gate.acquire(giveUp.signal);
  await clock.advance(20);
  giveUp.abort(new Error('enough'));
  await expect(passing).rejects.toThrow('enough');
  await clock.advance(5_000);
  expect(gate.waitedMs()).toBe(20);
});

describe('the share of lookups that failed', () => {
  it('says nothing of fewer than 200', () => {
    const share = createFailedShare(0.2);
    for (let lookup = 0; lookup < 199; lookup += 1) expect(share.add(true)).toBe(false);
    expect(share.add(true)).toBe(true);
  });

  it.each([
    [40, false],
    [41, true],
  ])('with %i of 200 is more than a fifth: %s', (failures, isTooMany) => {
    const share = createFailedShare(0.2);
    let last = false;
    for (let lookup = 0; lookup < 200; lookup += 1) last = share.add(lookup < failures);
    expect(last).toBe(isTooMany);
  });

  it('of one is never exceeded', () => {
    const share = createFailedShare(1);
    for (let lookup = 0; lookup < 500; lookup += 1) expect(share.add(true)).toBe(false);
  });
});
