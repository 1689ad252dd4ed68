import { describe, expect, it } from 'vitest';
import type { Misdirection } from '../../../src/brand/outcome.ts';
import { describeGoingOn, describeStop, describeSummary } from '../../../src/watch/describe.ts';
import {
  createStatusCounts,
  type PaceSummary,
  type Summary,
  summarizePace,
} from '../../../src/watch/summary.ts';

const SUMMARY: Summary = {
  runId: '0123456789ab',
  rows: 1_234,
  statuses: { ...createStatusCounts(), found: 1_230, not_found: 3, failed: 1 },
  uniqueDomains: 1_200,
  freshDomains: 200,
  lookups: 1_000,
  calls: 1_010,
  retries: 9,
  throttled: 1,
  cost: undefined,
  elapsedMs: 65_000,
  lookupMs: 50_500,
  callsPerSecond: 20,
  pace: undefined,
  store: { folder: '.brandfill', sizeBytes: 1_234_567 },
  stopped: undefined,
  out: 'o.csv',
  failures: 'f.csv',
  failuresSheet: undefined,
  filled: { City: 12, Zip: 0 },
  logos: {
    folder: 'pictures',
    saved: 1_100,
    kept: 120,
    missing: 10,
    reasons: { timeout: 1, http_404: 9 },
  },
  changes: { file: 'c.csv', new: 3, changed: 1_200 },
};

describe('describeSummary', () => {
  it('says how all rows ended, what it took, and where they are', () => {
    expect(describeSummary(SUMMARY)).toEqual([
      '1,234 rows in 1 min 5 s: 1,230 found, 3 not found, 1 failed',
      '1,010 calls for 1,000 domains, 200 fresh; 9 retries, 1 throttled, 20.0 calls/s',
      '  rows      o.csv',
      '  failures  f.csv (4 rows)',
      '  filled    City 12, Zip 0',
      '  logos     pictures (1,100 saved, 120 kept, 10 missing: 9 http_404, 1 timeout)',
      '  changes   c.csv (3 new, 1,200 changed)',
      '  store     .brandfill (1.2 MB)',
    ]);
  });

  it('says that nothing was found, why, and what to check', () => {
    const statuses = { ...createStatusCounts(), not_found: 120 };
    const nothing = { ...SUMMARY, statuses };
    expect(describeSummary(nothing).at(-1)).toBe(
      'No row has an answer: 120 unknown to the API. Check --base-url and --domain-column, and whether one that must be known is found: brandfill try DOMAIN.',
    );
    const mixed = { ...nothing, statuses: { ...statuses, rejected: 4, invalid: 1 } };
    expect(describeSummary(mixed).at(-1)).toMatch(
      /^No row has an answer: 120 unknown to the API, 4 refused by it, 1 without a domain\. /,
    );
    const invalid = { ...SUMMARY, calls: 0, statuses: { ...createStatusCounts(), invalid: 9 } };
    expect(describeSummary(invalid).at(-1)).toBe('No row has a domain: check --domain-column.');
  });

  it.each([
    ['one is found', 10, { not_found: 9, found: 1 }],
    ['all are fresh, and no call was made', 0, { not_found: 9 }],
    ['the list is empty', 0, {}],
    ['some failed, which is told', 10, { not_found: 9, failed: 1 }],
  ])('does not say so when %s', (_, calls, some) => {
    const statuses = { ...createStatusCounts(), ...some };
    expect(describeSummary({ ...SUMMARY, calls, statuses }).join()).not.toContain('No row');
  });

  it('says what is left of the calls that all runs may make', () => {
    const endsAtMs = Date.UTC(2026, 10, 22);
    const callsPer = { count: 1_000, unit: 'day', used: 640, left: 360, endsAtMs } as const;
    expect(describeSummary({ ...SUMMARY, callsPer })[2]).toBe(
      'Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z',
    );
  });

  it('says how to go on where the run was stopped', () => {
    const lines = describeSummary({ ...SUMMARY, out: '-', stopped: { reason: 'quota' } });
    expect(lines).toContain('  rows      standard output');
    expect(lines.at(-1)).toMatch(/run the same command again to go on/);
    const stopped = { reason: 'max_calls_per', comeBackAtMs: 0 } as const;
    expect(describeSummary({ ...SUMMARY, stopped }).at(-1)).toBe(
      'Stopped early. What was found is kept: run the same command again after 1970-01-01T00:00:00.000Z to go on.',
    );
  });

  it('says little about nothing', () => {
    expect(
      describeSummary({
        ...SUMMARY,
        rows: 0,
        statuses: createStatusCounts(),
        calls: 0,
        lookups: 0,
        elapsedMs: 5,
        out: undefined,
        failures: undefined,
      })[0],
    ).toBe('0 rows in 5 ms');
  });
});

describe('the pace in the summary', () => {
  const PACE: PaceSummary = {
    limitIs: 'learned',
    limitPerSecond: 50.2,
    mostAtOnce: undefined,
    throttledShare: 0,
    waitedMs: { told: 0, backingOff: 0, outage: 0, retryBudget: 0 },
  };
  const say = (pace: Partial<PaceSummary>): string | undefined =>
    describeSummary({ ...SUMMARY, pace: { ...PACE, ...pace } })[2];

  it.each<[Partial<PaceSummary>, string]>([
    [{}, 'Pace: limit about 50/s'],
    [{ limitIs: 'published', limitPerSecond: 0.098 }, 'Pace: limit about 5.9/min, as the API says'],
    [{ limitIs: 'fixed', limitPerSecond: 5_000 / 86_400 }, 'Pace: held to 3.5/min'],
    [{ limitIs: 'unknown', limitPerSecond: undefined }, 'Pace: no limit met'],
    [{ limitIs: 'unknown', limitPerSecond: undefined, mostAtOnce: 10 }, 'Pace: at most 10 at once'],
    [{ mostAtOnce: 10 }, 'Pace: limit about 50/s, at most 10 at once'],
  ])('says of the limit %j', (pace, said) => {
    expect(say(pace)).toBe(said);
  });

  it.each([
    [0.5, '50 %'],
    [0.123_4, '12 %'],
    [0.004_2, '0.4 %'],
    [0.000_21, '0.02 %'],
  ])('says that a share of %d was throttled', (throttledShare, said) => {
    expect(say({ throttledShare })).toBe(`Pace: limit about 50/s; ${said} of the calls throttled`);
  });

  it('says for how long it waited for what, and nothing of what it did not wait for', () => {
    const waitedMs = { told: 12_000, backingOff: 310, outage: 250_000, retryBudget: 2_000 };
    expect(say({ waitedMs })).toBe(
      'Pace: limit about 50/s; waited 12 s as told, 310 ms backing off, 4 min 10 s for an outage, 2 s for the retry budget',
    );
    expect(say({ waitedMs: { ...PACE.waitedMs, outage: 5_000, backingOff: 40 } })).toBe(
      'Pace: limit about 50/s; waited 5 s for an outage',
    );
  });

  it('has the rate that was given, or the limit that was found', () => {
    const what = { calls: 200, throttled: 3, waitedMs: PACE.waitedMs };
    const pace = { ratePerSecond: 48, waitMs: 0, why: 'holding' } as const;
    expect(summarizePace({ ...pace, limitIs: 'fixed' }, what)).toEqual({
      limitIs: 'fixed',
      limitPerSecond: 48,
      mostAtOnce: undefined,
      throttledShare: 0.015,
      waitedMs: PACE.waitedMs,
    });
    const found = { ...pace, learnedLimitPerSecond: 50, concurrencyLimit: 4 };
    expect(summarizePace({ ...found, limitIs: 'learned' }, what)).toMatchObject({
      limitPerSecond: 50,
      mostAtOnce: 4,
    });
  });

  it('is left out where no call was made', () => {
    expect(describeSummary({ ...SUMMARY, pace: undefined }).join()).not.toContain('Pace');
  });
});

describe('describeStop', () => {
  it('says why, and when to come back if that is known', () => {
    expect(describeStop({ reason: 'unauthorized' })).toMatch(/401.*BRANDFILL_API_KEY/);
    expect(describeStop({ reason: 'forbidden' })).toMatch(/403/);
    expect(describeStop({ reason: 'max_calls' })).toMatch(/--max-calls/);
    expect(describeStop({ reason: 'interrupted' })).toMatch(/Interrupted/);
    expect(describeStop({ reason: 'quota', comeBackAtMs: 0 })).toMatch(
      /It said to come back at 1970-01-01T00:00:00.000Z\.$/,
    );
    expect(describeStop({ reason: 'max_calls_per', comeBackAtMs: 0 })).toMatch(
      /--max-calls-per.*The next may be made from 1970-01-01T00:00:00.000Z on\.$/,
    );
  });

  it('says what the API refused five domains with, and what to check', () => {
    const refusal = { httpStatus: 422, said: 'Unknown parameter: langg' };
    const text = describeStop({ reason: 'refused', refusal });
    expect(text).toMatch(
      /five different domains in the same way.*: 422 'Unknown parameter: langg'\./,
    );
    expect(text).toMatch(/nothing of it is kept.*--auth.*plan.*--param.*--base-url/);
    expect(text).toMatch(
      /--max-failed 100% takes the API at its word\. No further call is made\.$/,
    );
    expect(describeGoingOn({ reason: 'refused', refusal })).toBe(
      'What was found before is kept: once that is fixed, run the same command again.',
    );
  });

  it('cuts what an API says at length, and tells a refusal without words', () => {
    const said = 'x'.repeat(5_000);
    expect(
      describeStop({ reason: 'refused', refusal: { httpStatus: 400, said } }).length,
    ).toBeLessThan(800);
    expect(describeStop({ reason: 'refused', refusal: { httpStatus: 400, said: '' } })).toContain(
      '400 without a word why.',
    );
  });

  it('says what a 403 says, where it is known', () => {
    const refusal = { httpStatus: 403, said: 'Your plan has no brands' };
    expect(describeStop({ reason: 'forbidden', refusal })).toMatch(
      /403 five times in a row: 'Your plan has no brands'\. Check --auth/,
    );
  });

  it.each<[Misdirection, RegExp]>([
    ['same_answer', /^Five different domains got one and the same answer \(200\).*--base-url/],
    ['lost_domain', /redirected to an address without the domain/],
    ['bot_wall', /check for bots.*let your address or your User-Agent \(--header\) through/],
    ['invalid_http', /no HTTP\/1.1 and cannot be read.*port/],
    ['unknown_content_encoding', /content encoding that is not known/],
    ['unknown_charset', /charset that is not known/],
    ['http2_only', /HTTP\/2 only/],
    ['tls_too_old', /version of TLS that is too old/],
    ['client_certificate_required', /client certificate/],
  ])('names what was seen: %s', (seen, expected) => {
    const text = describeStop({ reason: 'misdirected', seen });
    expect(text).toMatch(expected);
    expect(text).not.toContain('BRANDFILL_API_KEY');
    expect(text).toMatch(/nothing of it is kept, and the outputs stay as they were\.$/);
  });
});
