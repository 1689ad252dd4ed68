import { describe, expect, it } from 'vitest';
import { compileLimits } from '../../src/profile/rules.ts';

const NOW = 1_800_000_000_000;

describe('limits in headers of an API', () => {
  it('are read from objects, in whatever quotes, window by window', () => {
    const read = compileLimits([
      {
        per: '1min',
        member: 'minute',
        limit: 'X-RateLimit-Limit',
        remaining: 'X-RateLimit-Remaining',
        reset: 'X-RateLimit-Reset',
      },
    ]);
    const headers = {
      'x-ratelimit-limit': `{'day': 9, 'minute': 100}`,
      'x-ratelimit-remaining': '{"minute":7,"day":3}',
      'x-ratelimit-reset': '30',
    };
    expect(read(headers, NOW)).toEqual({
      limits: { quota: { count: 100, perMs: 60_000 }, remaining: 7, resetMs: 30_000 },
    });
  });

  it('of several windows set the pace by the slowest, and stop calls by the one that is used up', () => {
    const read = compileLimits([
      { per: '1min', limit: 'a-minute', remaining: 'a-minute-left' },
      { per: '1h', limit: 'an-hour', remaining: 'an-hour-left', reset: 'hour-reset', unit: 'ms' },
      { per: '24h', limit: 'a-day', remaining: 'a-day-left' },
    ]);
    const headers = {
      'a-minute': '1000',
      'a-minute-left': '40',
      'an-hour': '6000',
      'an-hour-left': '0',
      'hour-reset': '1500',
      'a-day': '10',
      'a-day-left': '9',
    };
    expect(read(headers, NOW)?.limits).toEqual({
      quota: { count: 6_000, perMs: 3_600_000 }, // a day is no pace
      remaining: 0,
      resetMs: 1_500,
    });
  });

  it('leave Retry-After and the known headers as they are where there are none', () => {
    const read = compileLimits([{ per: '1min', limit: 'a-minute' }]);
    expect(read({ 'retry-after': '3' }, NOW)).toEqual({ retryAfterMs: 3_000 });
    expect(read({ 'x-ratelimit-remaining': '5' }, NOW)?.limits).toEqual({ remaining: 5 });
    expect(read({ 'a-minute': 'many' }, NOW)).toBeUndefined();
  });
});
