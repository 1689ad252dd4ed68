import { describe, expect, it } from 'vitest';
import { createCircuitBreaker } from '../../src/worker/circuit-breaker.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createTestContext, found, type TestContext, tryAgain } from './lookups.ts';

const MINUTE_MS = 60_000;

function domains(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `d${at}.com`);
}

describe('an outage of the API', () => {
  it.each([4, 8, 32])(
    'stops all calls of %i callers but a probe, and costs no lookup its attempts',
    async (callers) => {
      const outMs = 10 * MINUTE_MS;
      const callsMs: number[] = [];
      const context = createTestContext(
        () => {
          callsMs.push(context.clock.nowMs());
          return context.clock.nowMs() < outMs ? tryAgain('http_503') : found;
        },
        { callers },
      );
      const worker = createWorker({ ...context, concurrency: callers });
      const statuses: string[] = [];
      await worker.handle({ domains: domains(200) }, async (outcomes) => {
        statuses.push(...outcomes.map(({ status }) => status));
      });
      expect(new Set(statuses)).toEqual(new Set(['found']));
      expect(statuses).toHaveLength(200);
      // The calls that showed the outage, then probes after 5, 10, 20, … 300 s.
      expect(callsMs.filter((atMs) => atMs < outMs).length).toBeLessThan(64 + 10);
      // It was back at the next probe, and back to speed within a minute of that.
      expect(context.clock.nowMs()).toBeLessThan(outMs + 5 * MINUTE_MS + MINUTE_MS);
    },
  );

  it('is probed by another lookup when the one that was to do it is no longer wanted', async () => {
    const outMs = 20_000;
    const isOut = (): boolean => context.clock.nowMs() < outMs;
    const context = createTestContext(() => (isOut() ? tryAgain('http_503') : found));
    const worker = createWorker({ ...context, concurrency: 32 });
    // Most chunks are taken back while the API is out: their lookups still wait for their turn.
    const isWanted = (domain: string): boolean =>
      !context.breaker.isOut || domain.endsWith('9.com');
    await worker.handle({ domains: domains(200) }, async () => {}, isWanted);
    // Each probe that is waited for in vain would take a minute and a half.
    expect(context.clock.nowMs()).toBeLessThan(3 * MINUTE_MS);
  });

  it('is none when those fail that failed before', async () => {
    const context = createTestContext(() => tryAgain('http_500'));
    const worker = createWorker({ ...context, concurrency: 8, hasFailedBefore: () => true });
    const statuses: string[] = [];
    await worker.handle({ domains: domains(60) }, async (outcomes) => {
      statuses.push(...outcomes.map(({ status }) => status));
    });
    expect(statuses).toHaveLength(60);
    expect(context.stopSwitch.stopped).toBeUndefined();
  });

  it('sets no timer for each call that ends while others wait for their way back', async () => {
    const clock = createFakeClock();
    const { signal } = new AbortController();
    const onTooLong = (): void => {};
    const gate = createCircuitBreaker({
      clock,
      callers: 100,
      maxOutageMs: 60 * MINUTE_MS,
      onTooLong,
    });
    const call = { isRefused: false, isEvidence: (): boolean => true };
    for (let failed = 0; failed < 20; failed += 1) {
      gate.tryAcquire();
      gate.release({ ...call, isFailure: true, sentAtMs: clock.nowMs() });
    }
    let passed = 0;
    for (let caller = 0; caller < 100; caller += 1) {
      void gate.acquire(signal).then(() => {
        passed += 1;
      });
    }
    await clock.advance(5_000); // the probe
    expect(passed).toBe(1);
    for (let ended = 0; ended < 50; ended += 1) {
      gate.release({ ...call, isFailure: false, sentAtMs: clock.nowMs() });
      await Promise.resolve();
    }
    await clock.advance(0);
    expect(passed).toBe(60); // those that ended, and a tenth of the callers
    expect(clock.sleepsMs.length).toBeLessThan(10);
  });
});

const PER_S = 20;
const CALL_MS = 80;

/** An API behind a gateway that lets 20 calls a second through, and answers others 503 at once. */
function limitedApi(): TestContext {
  let tokens = PER_S;
  let latestMs = 0;
  const context = createTestContext(async () => {
    const nowMs = context.clock.nowMs();
    tokens = Math.min(PER_S, tokens + ((nowMs - latestMs) / 1_000) * PER_S);
    latestMs = nowMs;
    if (tokens < 1) return tryAgain('http_503');
    tokens -= 1;
    await context.clock.sleep(CALL_MS, new AbortController().signal);
    return found;
  });
  return context;
}

it('503 as a limit is found out, and its rate is held', async () => {
  const context = limitedApi();
  const worker = createWorker({ ...context, concurrency: 32 });
  const statuses: string[] = [];
  const domains = Array.from({ length: 600 }, (_, at) => `d${at}.com`);
  await worker.handle({ domains }, async (outcomes) => {
    statuses.push(...outcomes.map(({ status }) => status));
  });
  expect(statuses).toHaveLength(600);
  expect(new Set(statuses)).toEqual(new Set(['found']));
  expect(context.breaker.isLimitedBy503).toBe(true);
  // 30 s at the limit, and half a minute to find out.
  expect(context.clock.nowMs()).toBeLessThan(65_000);
  expect(context.called.length).toBeLessThan(750);
});

it('503 that comes to one call in ten is none', async () => {
  let calls = 0;
  const context = createTestContext(async () => {
    calls += 1;
    await context.clock.sleep(CALL_MS, new AbortController().signal);
    return calls % 10 === 0 ? tryAgain('http_503') : found;
  });
  const worker = createWorker({ ...context, concurrency: 32 });
  const domains = Array.from({ length: 600 }, (_, at) => `d${at}.com`);
  await worker.handle({ domains }, async () => {});
  expect(context.breaker.isLimitedBy503).toBe(false);
  expect(context.counters.throttled).toBe(0);
});
