import { expect, it, onTestFinished, vi } from 'vitest';
import { parseRetryAfter } from '../../src/brand/retry-after.ts';

// The quick tests share a process, whose time zone cannot be another for one of them.
it.each(['America/New_York', 'Asia/Tokyo'])('every date is taken for GMT, also in %s', (zone) => {
  vi.stubEnv('TZ', zone);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  expect(new Date(0).getTimezoneOffset()).not.toBe(0);
  const nowMs = Date.UTC(2026, 10, 20, 20);
  const parse = (value: string): unknown => parseRetryAfter(value, { date: undefined, nowMs });
  expect(parse('Fri Nov 20 20:01:00 2026')).toBe(61_000);
  expect(parse('Friday, 20-Nov-26 20:01:00 GMT')).toBe(61_000);
});
