import { describe, expect, it } from 'vitest';
import { findLimits, findWaitMs, type Limits, waitIn } from '../../src/brand/limits.ts';
import { LONGEST_STATED_MS } from '../../src/calls/rate.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 20);
const IN_A_MINUTE_S = NOW_MS / 1_000 + 60;

// What is said over HTTP in each way stands in dialects.test.ts.
describe('a field that names a time', () => {
  it.each<[string | readonly string[] | undefined, number | undefined]>([
    [' 1.25 ', 1_250],
    [`5${' '.repeat(5_000)}x`, 5_000],
    ['0', 0],
    [`${IN_A_MINUTE_S}.5`, 60_500],
    ['Fri, 20 Nov 2026 20:01:00 GMT', 60_000],
    ['2026-11-20T21:01:00.500+01:00', 60_500],
    ['2026-11-20 20:01:00', 60_000],
    ['7.66s', 7_660],
    ['250 ms', 250],
    [`${IN_A_MINUTE_S}000000`, 60_000],
    ['3, soon', undefined],
    ['3 blinks', undefined],
    ['Fri Nov 20 19:01:00 2026', undefined],
    [['120'], 120_000],
    ['999999999', LONGEST_STATED_MS],
    ['Fri, 20 Nov 2026 19:59:00 GMT', undefined],
    ['Fri, 20 Nov 2026 20:00:00 GMT', undefined],
    ['1000000000', undefined],
    ['100000000000', undefined],
    [`${NOW_MS / 1_000 - 5}`, undefined],
    ['1e3', undefined],
    ['soon', undefined],
    ['retry 3600', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j', (value, waitMs) => {
    expect(findWaitMs(value, { nowMs: NOW_MS })).toBe(waitMs);
  });

  it('is compared with the Date of its answer', () => {
    const date = 'Fri, 20 Nov 2026 19:00:00 GMT';
    const until = 'Fri, 20 Nov 2026 19:00:30 GMT';
    expect(findWaitMs(until, { nowMs: NOW_MS, date })).toBe(30_000);
  });
});

describe('limits in headers', () => {
  it.each<[Readonly<Record<string, string>>, unknown]>([
    [{ 'content-type': 'application/json' }, undefined],
    [{ 'retry-after': '3' }, { retryAfterMs: 3_000 }],
    [
      { 'ratelimit-policy': '"burst";q=100;w=60', ratelimit: '"burst";r=0;t=30' },
      { limits: { quota: { count: 100, perMs: 60_000 }, remaining: 0, resetMs: 30_000 } },
    ],
    [
      { 'ratelimit-policy': '"day";q=5000;w=86400, "second";q=10;w=1' },
      { limits: { quota: { count: 10, perMs: 1_000 } } },
    ],
    [{ ratelimit: '"a";r=9;t=5, "b";r=2;t=50' }, { limits: { remaining: 2, resetMs: 50_000 } }],
    [{ ratelimit: '"a";r=0;t=5, "b";r=0;t=50' }, { limits: { remaining: 0, resetMs: 50_000 } }],
    [
      { 'ratelimit-policy': '"second";q=10;w=1, "day";q=5000;w=86400' },
      { limits: { quota: { count: 10, perMs: 1_000 } } },
    ],
    [{ ratelimit: '"b";r=0;t=50, "a";r=0;t=5' }, { limits: { remaining: 0, resetMs: 50_000 } }],
    [{ ratelimit: '"a";r=2;t=5, "b";r=9;t=50' }, { limits: { remaining: 2, resetMs: 5_000 } }],
    [
      { 'ratelimit-policy': '"a";q=1;w=3600' },
      { limits: { quota: { count: 1, perMs: 3_600_000 } } },
    ],
    [{ 'ratelimit-policy': '"a";q=1;w=3601, "b";q=fast;w=1, "c";q=-5;w=1' }, undefined],
    [{ 'ratelimit-policy': '"a";q=0;w=1, "b";q=1, "c";w=1' }, undefined],
    [{ 'ratelimit-policy': '"bytes";q=1;w=1;qu="content-bytes"' }, undefined],
    [
      { 'ratelimit-limit': '100, 100;w=60', 'ratelimit-remaining': '7', 'ratelimit-reset': '5' },
      { limits: { quota: { count: 100, perMs: 60_000 }, remaining: 7, resetMs: 5_000 } },
    ],
    [
      {
        'x-ratelimit-limit': '600',
        'x-ratelimit-remaining': '1',
        'x-ratelimit-reset': `${IN_A_MINUTE_S}`,
      },
      { limits: { remaining: 1, resetMs: 60_000 } },
    ],
    [{ 'x-ratelimit-reset': 'Fri, 20 Nov 2026 20:01:00 GMT' }, { limits: { resetMs: 60_000 } }],
    [{ 'x-ratelimit-remaining': '{minute: 5}' }, undefined],
    [
      { ratelimit: 'limit=10, remaining=4, reset=3', 'ratelimit-policy': '10;w=3' },
      { limits: { quota: { count: 10, perMs: 3_000 }, remaining: 4, resetMs: 3_000 } },
    ],
    [{ 'retry-after': '3', 'retry-after-ms': '3000' }, { retryAfterMs: 3_000 }],
    [{ 'retry-after': '60', age: '60' }, undefined],
    [{ 'retry-after': '60', age: 'old' }, { retryAfterMs: 60_000 }],
    [{ ratelimit: '"unclosed;r=0' }, undefined],
  ])('%j', (headers, limits) => {
    expect(findLimits(headers, NOW_MS)).toEqual(
      limits === undefined ? undefined : expect.objectContaining(limits as object),
    );
  });

  it.each<[Limits['limits'], boolean | undefined, number | undefined]>([
    [{ remaining: 0, resetMs: 9 }, undefined, 9],
    [{ remaining: 1, resetMs: 9 }, true, undefined],
    [{ remaining: 1, resetMs: 9 }, false, undefined],
    [{ resetMs: 9 }, true, 9],
    [{ resetMs: 9 }, undefined, undefined],
    [undefined, true, undefined],
  ])('%j, of an answer about the rate: %s, are a wait of %s', (limits, isForRate, waitMs) => {
    expect(waitIn({ retryAfterMs: undefined, limits }, isForRate)).toBe(waitMs);
  });

  it.each([
    { 'retry-after': '9'.repeat(100_000) },
    { ratelimit: `"a";r=0${',"a";r=0'.repeat(100_000)}` },
    { 'ratelimit-policy': '('.repeat(100_000) },
    { 'x-ratelimit-reset': ' '.repeat(100_000) },
  ])('cost no time, however long they are', (headers) => {
    findLimits(headers, NOW_MS); // else the test takes too long
  });
});
