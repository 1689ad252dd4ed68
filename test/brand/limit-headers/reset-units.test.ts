import { describe, expect, it } from 'vitest';
import { findLimits } from '../../../src/brand/limit-headers/find-limits.ts';

const DATE = 'Fri, 20 Nov 2026 20:00:00 GMT';
const NOW_MS = Date.parse(DATE);

describe('a reset in another unit', () => {
  it.each<[Record<string, string>, object]>([
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '0.4' },
      { remaining: 0, resetMs: 400 },
    ],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-ms': '1500' },
      { remaining: 0, resetMs: 1_500 },
    ],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-ms': String(NOW_MS + 2_000) },
      { remaining: 0, resetMs: 2_000 },
    ],
    [
      {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset-after': '0.4',
        'x-ratelimit-reset': String(NOW_MS / 1_000 + 9),
      },
      { remaining: 0, resetMs: 400 },
    ],
    [
      { 'x-ratelimit-reset-ms-requests': '250', 'x-ratelimit-remaining-requests': '0' },
      { remaining: 0, resetMs: 250 },
    ],
  ])('is read from %j', (headers, limits) => {
    expect(findLimits(headers, { nowMs: NOW_MS, date: DATE })).toEqual({ limits });
  });
});
