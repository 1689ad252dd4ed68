import { expect, it } from 'vitest';
import { createWorker } from '../../src/worker/worker.ts';
import { createTestContext, found, type TestContext, tryAgain } from './lookups.ts';

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
  expect(context.outage.isLimitedBy503).toBe(true);
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
  expect(context.outage.isLimitedBy503).toBe(false);
  expect(context.counters.throttled).toBe(0);
});
