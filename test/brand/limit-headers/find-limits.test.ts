import { describe, expect, it } from 'vitest';
import { findLimits, type Limits, laterOf } from '../../../src/brand/limit-headers/find-limits.ts';
import { createServerClock, type FieldValue } from '../../../src/brand/limit-headers/time.ts';

const DATE = 'Fri, 20 Nov 2026 20:00:00 GMT';
const NOW_MS = Date.parse(DATE);

function find(headers: Record<string, FieldValue>, date?: string): Limits | undefined {
  return findLimits(headers, { nowMs: NOW_MS, date });
}

describe('an answer without limits', () => {
  it.each<[string, Record<string, string>]>([
    ['no header at all', {}],
    ['others', { date: DATE, 'content-type': 'application/json', 'x-request-id': '1' }],
    ['names that begin alike', { ratelimiter: '1', 'x-rate': '5', 'retry-afterwards': '5' }],
    ['a limit of which the window is not told', { 'x-ratelimit-limit': '100' }],
    ['roles nobody knows', { 'x-ratelimit-resource': 'core', 'x-ratelimit-used': '5' }],
    ['nothing in them', { 'retry-after': '', ratelimit: '', 'x-ratelimit-reset': ' ' }],
    ['a window called like a method', { 'x-ratelimit-limit-constructor': '5' }],
    ['an object of JSON', { 'x-ratelimit-remaining': '{"minute":0,"day":17}' }],
  ])('has none (%s)', (_, headers) => {
    expect(find(headers)).toBeUndefined();
  });
});

describe('the wait that is told', () => {
  it.each<[Record<string, FieldValue>, number]>([
    [{ 'retry-after': '5' }, 5_000],
    [{ 'retry-after': ['5', '7'] }, 7_000],
    [{ 'retry-after': '5, 7' }, 7_000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 20:00:30 GMT' }, 31_000],
    [{ 'retry-after-ms': '350' }, 350],
    [{ 'retry-after-ms': '12.5' }, 12.5],
    [{ 'retry-after': '1', 'retry-after-ms': '350' }, 350],
    [{ 'retry-after': '3', 'retry-after-ms': '-1' }, 3_000],
    [{ 'retry-after': String(NOW_MS / 1_000 + 4) }, 5_000],
    [{ 'retry-after': String(NOW_MS + 4_000) }, 4_000],
    [{ 'retry-after': '2026-11-20T20:00:04.500Z' }, 4_500],
    [{ 'retry-after-ms': String(NOW_MS + 350) }, 350],
    [{ 'retry-after-seconds': '7' }, 7_000],
    [{ 'x-retry-after': '7' }, 7_000],
    [{ 'x-ms-retry-after-ms': '350' }, 350],
    [{ 'acme-retryafter': '7' }, 7_000],
    [{ 'x-rate-limit-retry-after-seconds': '7' }, 7_000],
    [{ 'x-rate-limit-retry-after-milliseconds': '7' }, 7],
  ])('by %j is %i ms', (headers, retryAfterMs) => {
    expect(find(headers)).toEqual({ retryAfterMs });
  });

  it('stands beside the limits', () => {
    expect(find({ 'retry-after': '2', ratelimit: '"p";r=0;t=30' })).toEqual({
      retryAfterMs: 2_000,
      limits: { remaining: 0, resetMs: 30_000 },
    });
  });
});

describe('a refusal says "later"', () => {
  it.each<[string, Limits | undefined, number | undefined, number | undefined]>([
    ['by nothing at all', undefined, undefined, undefined],
    ['by a stated wait', { retryAfterMs: 5, limits: { remaining: 0, resetMs: 9 } }, 5, 5],
    ['by a limit with nothing left', { limits: { remaining: 0, resetMs: 9 } }, 9, 9],
    [
      'not by a limit with calls left',
      { limits: { remaining: 1, resetMs: 9 } },
      undefined,
      undefined,
    ],
    ['by a mere reset if it is for the rate', { limits: { resetMs: 9 } }, undefined, 9],
    ['not by a limit without a reset', { limits: { remaining: 0 } }, undefined, undefined],
  ])('%s', (_, told, laterMs, laterForRateMs) => {
    expect(laterOf(told)).toBe(laterMs);
    expect(laterOf(told, true)).toBe(laterForRateMs);
  });
});

describe('the fields of the IETF draft', () => {
  it.each<[Record<string, FieldValue>, Limits['limits']]>([
    [{ ratelimit: '"p";r=0;t=30' }, { remaining: 0, resetMs: 30_000 }],
    [{ ratelimit: 'default;r=50;t=30' }, { remaining: 50, resetMs: 30_000 }],
    [{ ratelimit: '"p";r=5' }, { remaining: 5 }],
    [{ ratelimit: '"a";r=0;t=3, "b";r=9;t=60' }, { remaining: 0, resetMs: 3_000 }],
    [{ ratelimit: '"a";r=0;t=3, "b";r=0;t=60' }, { remaining: 0, resetMs: 60_000 }],
    [{ ratelimit: ['"a";r=7;t=3', '"b";r=2;t=60'] }, { remaining: 2, resetMs: 60_000 }],
    [{ 'ratelimit-policy': '"p";q=100;w=60' }, { quota: { count: 100, perMs: 60_000 } }],
    [
      { 'ratelimit-policy': '"burst";q=10;w=1,"day";q=1000;w=3600,"minute";q=100;w=60' },
      { quota: { count: 1_000, perMs: 3_600_000 } },
    ],
    [{ 'ratelimit-policy': '"c";q=8;qu="concurrent-requests"' }, { concurrent: 8 }],
    [{ 'ratelimit-policy': '"c";q=1;qu="concurrent-requests"' }, { concurrent: 1 }],
    [
      { 'ratelimit-policy': '"c";q=8;qu=concurrent-requests, "d";q=5;qu="concurrent-requests"' },
      { concurrent: 5 },
    ],
    [
      { 'ratelimit-policy': '"c";q=8;qu="concurrent-requests"', ratelimit: '"c";r=0;t=0' },
      { concurrent: 8 },
    ],
    [
      { 'ratelimit-policy': '"b";q=9000;w=1;qu="content-bytes"', ratelimit: '"x";r=3;t=1' },
      { remaining: 3, resetMs: 1_000 },
    ],
    [
      {
        'ratelimit-policy': '"p";q=100;w=60;pk=:cHNwdDA=:',
        ratelimit: '"p";r=30;t=6;pk=:cHNwdDA=:',
      },
      { quota: { count: 100, perMs: 60_000 }, remaining: 30, resetMs: 6_000 },
    ],
    [
      { 'ratelimit-policy': '100;w=60, 1000;w=3600' },
      { quota: { count: 1_000, perMs: 3_600_000 } },
    ],
    [{ ratelimit: 'limit=100, remaining=50, reset=5' }, { remaining: 50, resetMs: 5_000 }],
    [{ ratelimit: `"p";r=0;t=${NOW_MS / 1_000 + 5}` }, { remaining: 0, resetMs: 6_000 }],
    [{ ratelimit: `"p";r=0;t=@${NOW_MS / 1_000 + 5}` }, { remaining: 0, resetMs: 6_000 }],
    [{ ratelimit: '"p";r=0;t="5s"' }, { remaining: 0, resetMs: 5_000 }],
  ])('%j', (headers, limits) => {
    expect(find(headers)).toEqual({ limits });
  });

  it.each([
    { ratelimit: '"p";r=-1;t=-30' },
    { ratelimit: '"p;r=0;t=30' },
    { ratelimit: '"p";r=0;t=30,' },
    { ratelimit: '("p" "q")' },
    { ratelimit: '"p";r="0";t=?1' },
    { 'ratelimit-policy': '"p";q=0;w=60' },
    { 'ratelimit-policy': '"p";q=5;w=0' },
    { 'ratelimit-policy': '"p";q=5' },
    { 'ratelimit-policy': '"p";q=5;w=999999999999' },
    { 'ratelimit-policy': '"p";q=0;qu="concurrent-requests"' },
    { 'ratelimit-policy': '"p";q=0.5;qu="concurrent-requests"' },
    { 'ratelimit-policy': '"b";q=9000;w=1;qu="content-bytes"' },
  ])('that make no sense are ignored: %j', (headers) => {
    expect(find(headers)).toBeUndefined();
  });
});

describe('what is left of something other than calls', () => {
  const policy = '"b";q=9000;w=1;qu="content-bytes", "p";q=100;w=60';
  const quota = { count: 100, perMs: 60_000 };

  it('is no number of calls', () => {
    const headers = { 'ratelimit-policy': policy, ratelimit: '"b";r=3;t=9, "p";r=30;t=1' };
    expect(find(headers)).toEqual({ limits: { quota, remaining: 30, resetMs: 1_000 } });
  });

  it('holds calls back all the same when it is used up', () => {
    const headers = { 'ratelimit-policy': policy, ratelimit: '"b";r=0;t=9, "p";r=30;t=1' };
    expect(find(headers)).toEqual({ limits: { quota, remaining: 0, resetMs: 9_000 } });
  });

  it('is told apart by its name, and by nothing where there is none', () => {
    const headers = {
      'ratelimit-policy': '8;qu="concurrent-requests"',
      ratelimit: 'limit=100, remaining=0, reset=5',
    };
    expect(find(headers)).toEqual({ limits: { concurrent: 8, remaining: 0, resetMs: 5_000 } });
  });
});

describe('the older fields of the draft', () => {
  it.each<[Record<string, FieldValue>, Limits['limits']]>([
    [
      { 'ratelimit-limit': '100', 'ratelimit-remaining': '7', 'ratelimit-reset': '30' },
      { remaining: 7, resetMs: 30_000 },
    ],
    [{ 'ratelimit-limit': '100, 100;w=60' }, { quota: { count: 100, perMs: 60_000 } }],
    [{ 'ratelimit-limit': '100, 100;window=60' }, { quota: { count: 100, perMs: 60_000 } }],
    [
      { 'ratelimit-limit': '10, 10;w=1, 50;w=60, 5000;w=3600;burst=1000' },
      { quota: { count: 50, perMs: 60_000 } },
    ],
    [
      { 'ratelimit-remaining': '0', 'ratelimit-reset': '5', 'ratelimit-policy': '100;w=10' },
      { quota: { count: 100, perMs: 10_000 }, remaining: 0, resetMs: 5_000 },
    ],
  ])('%j', (headers, limits) => {
    expect(find(headers)).toEqual({ limits });
  });
});

describe('X-RateLimit', () => {
  it.each(['', 'x-', 'acme-', 'x-acme-api-'])('may have %j in front', (prefix) => {
    for (const name of [`${prefix}ratelimit`, `${prefix}rate-limit`]) {
      expect(find({ [`${name}-remaining`]: '0', [`${name}-reset`]: '30' })).toEqual({
        limits: { remaining: 0, resetMs: 30_000 },
      });
    }
  });

  it.each<[Record<string, FieldValue>, Limits['limits']]>([
    [
      {
        'x-ratelimit-limit': '60',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1795204805',
      },
      { remaining: 0, resetMs: 6_000 },
    ],
    [
      { 'x-rate-limit-remaining': '4', 'x-rate-limit-reset': '9' },
      { remaining: 4, resetMs: 9_000 },
    ],
    [{ 'x-ratelimit-reset': '30' }, { resetMs: 30_000 }],
    [{ 'x-ratelimit-remaining': '12.9' }, { remaining: 12 }],
    [{ 'x-ratelimit-remaining': ['9', '5'] }, { remaining: 5 }],
    [{ 'x-ratelimit-remaining': '9, 5' }, { remaining: 5 }],
    [{ 'x-ratelimit-reset': ['9', '5'] }, { resetMs: 9_000 }],
    [{ 'x-ratelimit-limit': '100;w=60' }, { quota: { count: 100, perMs: 60_000 } }],
    [
      {
        'x-ratelimit-limit-second': '10',
        'x-ratelimit-remaining-second': '3',
        'x-ratelimit-limit-minute': '100',
        'x-ratelimit-remaining-minute': '80',
      },
      { quota: { count: 100, perMs: 60_000 }, remaining: 3 },
    ],
    [
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '12ms',
        'x-ratelimit-remaining-tokens': '500',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      { remaining: 0, resetMs: 12 },
    ],
    [
      {
        'x-ratelimit-requests-limit': '500',
        'x-ratelimit-requests-remaining': '499',
        'x-ratelimit-requests-reset': '86400',
      },
      { remaining: 499, resetMs: 86_400_000 },
    ],
    [{ 'x-ratelimit-hard-limit-remaining': '3' }, { remaining: 3 }],
    [{ 'x-ratelimit-remaining': '{"minute":0}', 'x-ratelimit-reset': '5' }, { resetMs: 5_000 }],
    [
      { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '-5', 'ratelimit-remaining': '3' },
      { remaining: 3 },
    ],
  ])('%j', (headers, limits) => {
    expect(find(headers)).toEqual({ limits });
  });

  it('is read against the clock of the server', () => {
    const reset = String(Date.parse('Fri, 20 Nov 2020 20:00:05 GMT') / 1_000);
    const headers = { 'x-ratelimit-reset': reset };
    expect(find(headers, 'Fri, 20 Nov 2020 20:00:00 GMT')).toEqual({ limits: { resetMs: 6_000 } });
    expect(find(headers)).toBeUndefined();
  });
});

describe('a reset in seconds since 1970, once the clock of the server is known', () => {
  const OFFSET_MS = 4_321;

  /** A client that has had answers at all parts of a second. */
  function client() {
    const clock = createServerClock();
    function hear(atMs: number, headers: Record<string, string>, tookMs = 0) {
      const date = new Date(NOW_MS + atMs + OFFSET_MS).toUTCString();
      const nowMs = NOW_MS + atMs;
      return findLimits({ ...headers, date }, { nowMs, sentMs: nowMs - tookMs, date, clock })
        ?.limits;
    }
    for (let atMs = -2_000; atMs < 0; atMs += 7) hear(atMs, { 'x-ratelimit-remaining': '9' });
    return { hear, clock };
  }

  /** Seconds of the server at a time of ours, rounded as it does. */
  const seconds = (atMs: number, round: (seconds: number) => number): string =>
    String(round((NOW_MS + atMs + OFFSET_MS) / 1_000));

  it('is waited for to the moment', () => {
    const { hear } = client();
    const reset = seconds(700, Math.ceil);
    const untilMs = Number(reset) * 1_000 - OFFSET_MS - NOW_MS;
    for (const atMs of [10, 300, 600]) {
      const told = hear(atMs, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset });
      expect(told?.resetMs).toBeGreaterThan(untilMs - atMs - 10);
      expect(told?.resetMs).toBeLessThan(untilMs - atMs + 20);
    }
  });

  it('is a second later for good, after one that was over when none was left', () => {
    const { hear } = client();
    const reset = seconds(0, Math.floor);
    const told = hear(0, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset });
    expect(told?.resetMs).toBeGreaterThan(0);
    expect(told?.resetMs).toBeLessThan(1_000);
    const later = hear(5, {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': seconds(2_000, Math.floor),
    });
    expect(later?.resetMs).toBeGreaterThan(1_995);
  });

  it('may be over when the answer comes that none was left before', () => {
    const { hear, clock } = client();
    const reset = seconds(-100, Math.ceil);
    const overMs = Number(reset) * 1_000 - OFFSET_MS - NOW_MS + 50;
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    expect(hear(overMs, headers, 100)).toEqual({ remaining: 0 });
    expect(clock.roundsDown).toBe(false);
  });

  it('is a second later when nothing beside it would prove it wrong', () => {
    const told = client().hear(0, { 'x-ratelimit-reset': seconds(5_000, Math.floor) });
    const untilMs = Number(seconds(5_000, Math.floor)) * 1_000 - OFFSET_MS - NOW_MS;
    expect(told?.resetMs).toBeGreaterThanOrEqual(untilMs + 1_000);
  });

  it('is a second later when no answer said what time it is', () => {
    const headers = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(NOW_MS / 1_000 + 5),
    };
    const time = { nowMs: NOW_MS, date: undefined, clock: createServerClock() };
    expect(findLimits(headers, time)?.limits?.resetMs).toBe(6_000);
  });

  it('is not learned from answers that a cache has kept', () => {
    const { hear, clock } = client();
    const beforeMs = clock.earliestMs(NOW_MS) ?? 0;
    hear(30_000, { age: '30', 'x-ratelimit-remaining': '5' });
    expect(clock.earliestMs(NOW_MS)).toBeCloseTo(beforeMs, 3);
  });
});

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
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-seconds': '9' },
      { remaining: 0, resetMs: 9_000 },
    ],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-at': '2026-11-20T20:00:09Z' },
      { remaining: 0, resetMs: 10_000 },
    ],
  ])('is read from %j', (headers, limits) => {
    expect(findLimits(headers, { nowMs: NOW_MS, date: DATE })).toEqual({ limits });
  });
});
