import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import { useClient } from './support/clients.ts';
import { sandboxThatSays } from './support/sandbox-that-says.ts';

async function answerTo(status: number, headers: Record<string, string>): Promise<Answer> {
  const { url } = await sandboxThatSays({ status, headers, body: '{}' });
  return await useClient(url).ask();
}

describe('limits told in headers', () => {
  it.each([
    [200, 'found'],
    [202, 'pending'],
    [400, 'rejected'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [429, 'throttled'],
    [503, 'try_again'],
  ])('come with an answer of %i', async (status, kind) => {
    const headers = { ratelimit: '"p";r=7;t=30', 'ratelimit-policy': '"p";q=100;w=60' };
    expect(await answerTo(status, headers)).toMatchObject({
      kind,
      limits: { quota: { count: 100, perMs: 60_000 }, remaining: 7, resetMs: 30_000 },
    });
  });

  it('come with an answer that cannot be used', async () => {
    const { url } = await sandboxThatSays({
      body: 'no JSON',
      headers: { 'x-ratelimit-reset': '9' },
    });
    expect(await useClient(url).ask()).toMatchObject({
      kind: 'invalid_response',
      limits: { resetMs: 9_000 },
    });
  });

  it('are not there when there are none', async () => {
    expect(await answerTo(200, {})).not.toHaveProperty('limits');
  });
});

describe('the wait after a 429', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['what Retry-After says', { 'retry-after': '2', ratelimit: '"p";r=0;t=30' }, 2_000],
    ['what retry-after-ms says', { 'retry-after-ms': '250' }, 250],
    ['the time of a policy that is used up', { ratelimit: '"p";r=0;t=30' }, 30_000],
    ['the reset', { 'x-ratelimit-reset': '6m0s' }, 360_000],
    [
      'not the reset of a limit with calls left, for another one was hit',
      { 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '60' },
      undefined,
    ],
    ['not known', { 'x-ratelimit-remaining': '0' }, undefined],
  ])('is %s', async (_, headers, retryAfterMs) => {
    expect(await answerTo(429, headers)).toMatchObject({ kind: 'throttled', retryAfterMs });
  });

  it('is not taken for the wait after a 503', async () => {
    expect(await answerTo(503, { 'x-ratelimit-reset': '60' })).toMatchObject({
      kind: 'try_again',
      reason: 'http_503',
    });
  });
});
