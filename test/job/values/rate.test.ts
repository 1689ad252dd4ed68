import { describe, expect, it } from 'vitest';
import { parseRate } from '../../../src/job/values/quantities.ts';

describe('parseRate', () => {
  it.each([
    ['20/s', { count: 20, perMs: 1_000 }],
    ['20/sec', { count: 20, perMs: 1_000 }],
    ['20/second', { count: 20, perMs: 1_000 }],
    ['300/min', { count: 300, perMs: 60_000 }],
    ['300/m', { count: 300, perMs: 60_000 }],
    ['300/minute', { count: 300, perMs: 60_000 }],
    ['5000/h', { count: 5_000, perMs: 3_600_000 }],
    ['5000/hour', { count: 5_000, perMs: 3_600_000 }],
    ['5000/day', { count: 5_000, perMs: 86_400_000 }],
    ['5000/d', { count: 5_000, perMs: 86_400_000 }],
    ['0.5/s', { count: 0.5, perMs: 1_000 }],
    [' 20 / s ', { count: 20, perMs: 1_000 }],
    [' auto ', 'auto'],
  ])('reads %j', (text, rate) => {
    expect(parseRate(text)).toEqual(rate);
  });

  it.each([
    '',
    '20',
    '/s',
    '0/s',
    '0.0/min',
    '-1/s',
    '1e3/s',
    '20/year',
    '20/constructor',
    '20 per s',
    'AUTO',
    '20/s/s',
    'Infinity/s',
  ])('refuses %j', (text) => {
    expect(() => parseRate(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTING',
        message: `expected a rate such as 20/s, 300/min or 5000/day, or auto, received '${text}'`,
      }),
    );
  });
});
