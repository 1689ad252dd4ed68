import { describe, expect, it } from 'vitest';
import { lookUp } from '../../src/worker/lookup.ts';
import {
  createTestContext,
  found,
  invalid,
  STARTED_AT_MS,
  throttled,
  tryAgain,
} from './lookups.ts';

describe('a lookup that fails', () => {
  it.each(['http_500', 'http_503', 'http_408', 'timeout', 'connection_reset', 'dns_failure'])(
    'is tried again after %s, until it works',
    async (reason) => {
      const context = createTestContext((_, call) => (call < 4 ? tryAgain(reason) : found));
      expect(await lookUp('acme.com', context)).toMatchObject({
        outcome: { status: 'found', attempts: 4, reason: '' },
      });
      expect(context.counters).toMatchObject({ calls: 4, throttled: 0, retries: 3 });
    },
  );

  it.each([0, 1, 5, 8])('is tried again %i times and no more', async (retries) => {
    const reasons = ['http_500', 'timeout', 'http_502', 'connection_reset'];
    const context = createTestContext((_, call) => tryAgain(reasons[(call - 1) % 4]), { retries });
    const last = tryAgain(reasons[retries % 4]);
    expect(await lookUp('acme.com', context)).toMatchObject({
      kind: 'outcome',
      outcome: {
        status: 'failed',
        attempts: retries + 1,
        reason: 'reason' in last ? last.reason : '',
        httpStatus: last.httpStatus,
      },
    });
    expect(context.counters).toMatchObject({ calls: retries + 1, throttled: 0, retries });
  });

  it('waits longer each time, with full jitter', async () => {
    const context = createTestContext(() => tryAgain(), { retries: 7 });
    await lookUp('acme.com', context);
    expect(context.clock.sleepsMs).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
    const half = createTestContext(() => tryAgain(), { retries: 2, random: () => 0.5 });
    await lookUp('acme.com', half);
    expect(half.clock.sleepsMs).toEqual([250, 500]);
  });

  it('waits as long as an API that is out says, which costs no attempt', async () => {
    const context = createTestContext((_, call) => (call === 1 ? throttled(90_000, 503) : found));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'found', attempts: 1, throttled: 1 },
    });
    expect(context.called).toHaveLength(2);
    expect(context.clock.nowMs()).toBeGreaterThanOrEqual(90_000);
    expect(context.clock.nowMs()).toBeLessThan(91_001);
  });

  it('stops the run when an API that is out says to wait longer than --max-wait', async () => {
    const answers = [throttled(10_000, 503), throttled(10_001, 503)];
    const context = createTestContext((_, call) => answers[call - 1] ?? found, {
      maxWaitMs: 10_000,
    });
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
    const { stopped } = context.stopSwitch;
    expect(stopped).toMatchObject({ reason: 'quota' });
    expect(stopped?.comeBackAtMs).toBe(STARTED_AT_MS + context.clock.nowMs() + 10_001);
  });

  it('is dated when it ended', async () => {
    const context = createTestContext((_, call) => (call < 3 ? tryAgain() : found));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { fetchedAtMs: STARTED_AT_MS + 1_500 },
    });
  });
});

describe('an unusable answer', () => {
  it.each([
    [5, 4],
    [100, 4],
    [3, 4],
    [1, 2],
    [0, 1],
  ])('with %i retries is asked for %i times in all', async (retries, calls) => {
    const context = createTestContext(() => invalid, { retries });
    expect(await lookUp('acme.com', context)).toMatchObject({
      kind: 'outcome',
      outcome: expect.objectContaining({
        status: 'failed',
        reason: 'invalid_response',
        httpStatus: 200,
        attempts: calls,
      }) as unknown,
    });
    expect(context.counters.calls).toBe(calls);
  });

  it('is counted apart from other failures', async () => {
    const answers = [invalid, tryAgain(), invalid, tryAgain(), invalid, tryAgain(), invalid, found];
    const context = createTestContext((_, call) => answers[call - 1] ?? found, { retries: 10 });
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'failed', reason: 'invalid_response', attempts: 7 },
    });
  });

  it('may be followed by a good one', async () => {
    const context = createTestContext((_, call) => (call < 4 ? invalid : found));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'found', attempts: 4 },
    });
  });
});
