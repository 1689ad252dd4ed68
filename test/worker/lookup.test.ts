import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import { LONGEST_STATED_MS } from '../../src/common/calls.ts';
import { createRateLimiter } from '../../src/pace/rate-limiter.ts';
import { lookUp } from '../../src/worker/lookup.ts';
import {
  createTestContext,
  forbidden,
  found,
  invalid,
  notFound,
  outcomeOf,
  quotaUsedUp,
  rejected,
  STARTED_AT_MS,
  throttled,
  tryAgain,
  unauthorized,
} from './lookups.ts';

describe('a lookup that is answered', () => {
  it.each<[string, Answer, object]>([
    ['found', found, { status: 'found', httpStatus: 200, json: '{"a":1}', shape: [['a']] }],
    ['not found', notFound, { status: 'not_found', httpStatus: 404, reason: 'http_404' }],
    ['forbidden', forbidden, { status: 'rejected', httpStatus: 403, reason: 'not for you' }],
    ['rejected', rejected, { status: 'rejected', httpStatus: 422, reason: 'no domain' }],
    [
      'refused',
      { kind: 'refused', httpStatus: 501, reason: 'http_501' },
      { status: 'failed', httpStatus: 501, reason: 'http_501' },
    ],
    [
      'pending, which costs no attempt,',
      { kind: 'pending', httpStatus: 202, retryAfterMs: 9_000 },
      {
        status: 'pending',
        httpStatus: 202,
        reason: 'http_202',
        attempts: 0,
        retryAfterMs: 9_000,
      },
    ],
  ])('%s ends with the first call', async (_, answer, expected) => {
    const context = createTestContext(() => answer);
    expect(await lookUp('acme.com', context)).toEqual({
      kind: 'outcome',
      outcome: outcomeOf('acme.com', { throttled: 0, ...expected }),
      answer,
    });
    expect(context.called).toEqual(['/v1/brand?domain=acme.com']);
    expect(context.counters).toMatchObject({ calls: 1, throttled: 0, retries: 0 });
  });

  it.each([
    ['401', unauthorized, 'unauthorized'],
    ['402', quotaUsedUp, 'quota'],
  ] as const)('%s stops the run and has no outcome', async (_, answer, reason) => {
    const context = createTestContext(() => answer);
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
    const refusal = { httpStatus: answer.httpStatus, said: answer.reason };
    expect(context.stopSwitch.stopped).toEqual({ reason, refusal });
    expect(context.stopSwitch.noCall.aborted).toBe(false);
  });
});

describe('a redirect', () => {
  const to = (path: string): Answer => ({ kind: 'redirect', httpStatus: 302, path });

  it('is followed up to three times', async () => {
    const steps = ['/one', '/two', '/three'];
    const context = createTestContext((_, __, path) => {
      const next = steps[steps.indexOf(path) + 1];
      return next === undefined ? found : to(next);
    });
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'found', attempts: 4 },
    });
    expect(context.called).toEqual(['/v1/brand?domain=acme.com', ...steps]);
  });

  it('is not followed a fourth time', async () => {
    const context = createTestContext(() => to('/again'));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'failed', reason: 'too_many_redirects', httpStatus: 302, attempts: 4 },
    });
    expect(context.called).toHaveLength(4);
  });

  it('is begun anew when the lookup is tried again', async () => {
    const context = createTestContext((_, __, path) => {
      if (path !== '/elsewhere') return to('/elsewhere');
      return context.called.length < 8 ? tryAgain() : found;
    });
    expect(await lookUp('acme.com', context)).toMatchObject({ outcome: { status: 'found' } });
    expect(context.called.filter((path) => path === '/elsewhere')).toHaveLength(4);
  });
});

it("an error that is nobody's answer comes out as it is", async () => {
  const defect = new TypeError('undefined is not a function');
  const context = createTestContext(() => {
    throw defect;
  });
  await expect(lookUp('acme.com', context)).rejects.toBe(defect);
  expect(context.called).toHaveLength(1);
});

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
});

const MINUTE_MS = 60_000;

describe('a throttled lookup', () => {
  it('waits as told and costs no attempt', async () => {
    const context = createTestContext((_, call) => (call < 4 ? throttled(7_000) : found), {
      retries: 0,
    });
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'found', attempts: 1, fetchedAtMs: STARTED_AT_MS + 21_000 },
    });
    expect(context.counters).toMatchObject({ calls: 4, throttled: 3, retries: 0 });
  });

  it('holds back every other lookup', async () => {
    const startedMs: number[] = [];
    const context = createTestContext((domain, call) => {
      startedMs.push(context.clock.nowMs());
      return domain === 'a.com' && call === 1 ? throttled(7_000) : found;
    });
    await lookUp('a.com', context).then(() => {});
    await Promise.all([lookUp('b.com', context), lookUp('c.com', context)]);
    expect(startedMs).toHaveLength(4);
    expect(Math.min(...startedMs.slice(1))).toBeGreaterThanOrEqual(7_000);
  });

  it.each([1_000, 30_000, 60_000, 100_000])(
    'fails after ten minutes in all when told to wait %i ms each time',
    async (retryAfterMs) => {
      const context = createTestContext(() => throttled(retryAfterMs));
      expect(await lookUp('acme.com', context)).toMatchObject({
        kind: 'outcome',
        outcome: { status: 'failed', reason: 'throttled', httpStatus: 429, attempts: 0 },
      });
      expect(context.clock.nowMs()).toBeGreaterThan(8 * MINUTE_MS);
      expect(context.clock.nowMs()).toBeLessThanOrEqual(10 * MINUTE_MS);
      expect(context.stopSwitch.stopped).toBeUndefined();
    },
  );

  it('counts the waits before and after other failures together', async () => {
    const context = createTestContext((_, call) => (call % 2 ? throttled(240_000) : tryAgain()));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'failed', reason: 'throttled', attempts: 2 },
    });
  });

  it('does not count the wait for its place at a slow rate', async () => {
    const context = createTestContext((_, call) => (call === 1 ? throttled() : found));
    const rate = { count: 1, perMs: 60 * MINUTE_MS };
    const limiter = createRateLimiter({ clock: context.clock, rate });
    expect(await lookUp('acme.com', { ...context, limiter })).toMatchObject({
      outcome: { status: 'found' },
    });
  });

  it.each([
    ['429', throttled(15 * MINUTE_MS + 1)],
    ['402', { ...quotaUsedUp, retryAfterMs: 15 * MINUTE_MS + 1 }],
  ])('stops the run when %s tells to wait longer than maxWait', async (_, answer) => {
    const context = createTestContext(() => answer);
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
    expect(context.stopSwitch.stopped).toEqual({
      reason: 'quota',
      comeBackAtMs: STARTED_AT_MS + 15 * MINUTE_MS + 1,
    });
    expect(context.called).toHaveLength(1);
  });

  it('stops the run without a time to come back when told one that counts for a year', async () => {
    const context = createTestContext(() => throttled(LONGEST_STATED_MS));
    await lookUp('acme.com', context);
    expect(context.stopSwitch.stopped).toEqual({ reason: 'quota' });
  });
});
