import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import { LONGEST_STATED_MS } from '../../src/common/calls.ts';
import { createTurnstile } from '../../src/pace/turnstile.ts';
import { lookUp } from '../../src/worker/lookup.ts';
import {
  createTestContext,
  found,
  quotaUsedUp,
  STARTED_AT_MS,
  throttled,
  tryAgain,
} from './lookups.ts';

const MINUTE_MS = 60_000;

describe('a throttled lookup', () => {
  it('waits as told and costs no attempt', async () => {
    const context = createTestContext((_, call) => (call < 4 ? throttled(7_000) : found), {
      retries: 0,
    });
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'found', attempts: 1, fetchedAtMs: STARTED_AT_MS + 21_000 },
    });
    expect(context.counters).toEqual({ calls: 4, throttled: 3, retries: 0 });
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

  it.each([
    ['without being told how long', undefined],
    ['and told to wait for nothing', 0],
  ])('fails after ten minutes in all %s', async (_, retryAfterMs) => {
    const context = createTestContext(() => throttled(retryAfterMs));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'failed', reason: 'throttled' },
    });
    expect(context.clock.nowMs()).toBeGreaterThan(8 * MINUTE_MS);
    expect(context.clock.nowMs()).toBeLessThanOrEqual(10 * MINUTE_MS);
    expect(context.called.length).toBeLessThan(30);
  });

  it('counts the waits before and after other failures together', async () => {
    const context = createTestContext((_, call) => (call % 2 ? throttled(240_000) : tryAgain()));
    expect(await lookUp('acme.com', context)).toMatchObject({
      outcome: { status: 'failed', reason: 'throttled', attempts: 2 },
    });
  });

  it('does not count the wait for its place at a slow rate', async () => {
    const context = createTestContext((_, call) => (call === 1 ? throttled() : found));
    const rate = { count: 1, perMs: 60 * MINUTE_MS };
    const turnstile = createTurnstile({ clock: context.clock, rate });
    expect(await lookUp('acme.com', { ...context, turnstile })).toMatchObject({
      outcome: { status: 'found' },
    });
  });

  it.each([
    ['429', throttled(15 * MINUTE_MS + 1)],
    ['402', { ...quotaUsedUp, retryAfterMs: 15 * MINUTE_MS + 1 } as Answer],
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

  it.each([
    ['429', throttled(14 * MINUTE_MS)],
    ['402', { ...quotaUsedUp, retryAfterMs: 14 * MINUTE_MS } as Answer],
  ])('waits for a quota when %s tells to wait less than maxWait', async (_, answer) => {
    const context = createTestContext((_domain, call) => (call === 1 ? answer : found));
    const { outcome } = (await lookUp('acme.com', context)) as { outcome: object };
    expect(outcome).toMatchObject({ status: 'found', attempts: 1, throttled: 1 });
    expect(context.clock.nowMs()).toBeGreaterThanOrEqual(14 * MINUTE_MS);
    expect(context.called).toHaveLength(2);
  });

  it('waits ten minutes when told so', async () => {
    const context = createTestContext((_, call) =>
      call === 1 ? throttled(10 * MINUTE_MS) : found,
    );
    expect(await lookUp('acme.com', context)).toMatchObject({ outcome: { status: 'found' } });
  });
});
