import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import { lookUp } from '../../src/worker/lookup.ts';
import {
  createTestContext,
  forbidden,
  found,
  notFound,
  outcomeOf,
  quotaUsedUp,
  rejected,
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
    expect(context.counters).toEqual({ calls: 1, throttled: 0, retries: 0 });
  });

  it.each([
    ['401', unauthorized, 'unauthorized'],
    ['402', quotaUsedUp, 'quota'],
  ] as const)('%s stops the run and has no outcome', async (_, answer, reason) => {
    const context = createTestContext(() => answer);
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
    expect(context.stopSwitch.stopped).toEqual({ reason });
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
