import { describe, expect, it } from 'vitest';
import type { Misdirection } from '../../src/brand/outcome.ts';
import type { Plan } from '../../src/producer/plan.ts';
import {
  describeGoingOn,
  describeInput,
  describePlan,
  describeStop,
  describeSummary,
  inputBlock,
  planBlock,
} from '../../src/watch/describe.ts';
import {
  createStatusCounts,
  type PaceSummary,
  type Summary,
  summarizePace,
} from '../../src/watch/summary.ts';
import { describeOut } from '../../src/watch/waits.ts';

const PLAN: Plan = {
  rows: 1,
  uniqueDomains: 1_000,
  invalidRows: 0,
  invalidByReason: {},
  invalidExamples: [],
  freshDomains: 0,
  freshRows: 0,
  lookups: 1,
  raggedRows: 0,
  shortRows: 0,
  blankLines: 0,
  blankRows: 0,
  calls: 1,
  estimate: undefined,
  price: undefined,
  cost: undefined,
};

const INVALID: Partial<Plan> = {
  rows: 2_000,
  invalidRows: 12,
  invalidByReason: { empty: 2, free_mail: 9, ip_address: 1 },
  invalidExamples: [
    { row: 3, reason: 'empty', cell: '' },
    { row: 4, reason: 'free_mail', cell: 'jo@gmail.com' },
    { row: 1_200, reason: 'ip_address', cell: '10.0.0.1' },
  ],
};

const COSTLY: Partial<Plan> = {
  lookups: 1_000,
  calls: 1_000,
  estimate: { durationMs: 20_408, limitPerSecond: 49, limitIs: 'learned' },
  price: 0.0125,
  cost: 12.5,
};

describe('describePlan', () => {
  it('is one line, unless something is odd', () => {
    expect(describePlan(PLAN)).toEqual([
      'Plan: 1 row, 1,000 unique domains, 0 invalid, 0 fresh, 1 call to make',
    ]);
    expect(describePlan({ ...PLAN, raggedRows: 2, blankLines: 1, blankRows: 3 }).slice(1)).toEqual([
      '2 rows with more cells than the header, kept as they are',
      '1 blank line left out',
      '3 rows of nothing but delimiters, kept as they are',
    ]);
  });

  it('tells rows that are too long from rows that are too short', () => {
    const odd = { raggedRows: 3, shortRows: 1, firstShiftedLine: 7 };
    const invalid = {
      invalidRows: 2,
      invalidByReason: { too_many_cells: 2 },
      invalidExamples: [{ row: 5, line: 7, reason: 'too_many_cells', cell: 'jo@agency.de' }],
    };
    expect(describePlan({ ...PLAN, ...odd, ...invalid }).slice(1)).toEqual([
      "Invalid, for example: row 5 in line 7 'jo@agency.de' (too_many_cells)",
      '2 rows with more cells than the header, not looked up because the domain may be in another column, the first in line 7; quote texts that hold a delimiter',
      '1 row with fewer cells than the header, filled up',
    ]);
  });

  it('tells rows that were torn', () => {
    const odd = { raggedRows: 3, shortRows: 3, firstShiftedLine: 4 };
    const invalidByReason = { torn_row: 1 };
    expect(describePlan({ ...PLAN, ...odd, invalidByReason }).slice(1)).toEqual([
      '1 row torn off the one above by a line break, not looked up because the domain is in another column, the first in line 4; quote texts that hold a line break',
      '2 rows with fewer cells than the header, filled up',
    ]);
  });

  it('names rows of a workbook as spreadsheet programs count them', () => {
    const invalidExamples = [{ row: 1_197, sheetRow: 1_201, reason: 'empty', cell: '' }];
    expect(describePlan({ ...PLAN, ...INVALID, invalidExamples })[1]).toBe(
      'Invalid, for example: sheet row 1201 (empty)',
    );
  });

  it('has examples of rows without a domain in one line', () => {
    expect(describePlan({ ...PLAN, ...INVALID })[1]).toBe(
      "Invalid, for example: row 3 (empty); row 4 'jo@gmail.com' (free_mail); row 1,200 '10.0.0.1' (ip_address)",
    );
  });

  it('has in one line what is known of time and cost', () => {
    const time = 'about 20 s at 49/s, the limit that the last run met';
    const cost = '12.50 at 0.0125 a call, if none has to be made twice';
    const say = (plan: Partial<Plan>): string | undefined =>
      describePlan({ ...PLAN, ...COSTLY, ...plan })[1];
    expect(say({})).toBe(`Takes ${time}; costs ${cost}`);
    expect(say({ price: undefined, cost: undefined })).toBe(`Takes ${time}`);
    expect(say({ estimate: undefined })).toBe(`Costs ${cost}`);
    const fixed = { durationMs: 100_000, limitPerSecond: 10, limitIs: 'fixed' } as const;
    expect(say({ estimate: fixed, cost: undefined })).toBe(
      'Takes about 1 min 40 s at 10/s, as told',
    );
    expect(say({ estimate: { ...fixed, durationMs: 20 }, cost: undefined })).toBe(
      'Takes a second at 10/s, as told',
    );
    expect(say({ calls: 0, lookups: 0, cost: 0 })).toBeUndefined();
  });

  it('says where fewer calls are made than are due', () => {
    expect(describePlan({ ...PLAN, lookups: 1_000, calls: 50 })[0]).toMatch(
      /50 calls to make of the 1,000 due$/,
    );
  });
});

describe('the plan for somebody who is asked', () => {
  it('has a line for each thing', () => {
    expect(planBlock({ ...PLAN, ...INVALID, ...COSTLY, freshDomains: 20, blankLines: 1 })).toEqual([
      '  rows     2,000; 1 blank line left out',
      '  unique   1,000 domains, 20 of them fresh in the store',
      '  invalid  12 rows: 9 free_mail, 2 empty, 1 ip_address, such as',
      '           row 3 (empty)',
      "           row 4 'jo@gmail.com' (free_mail)",
      "           row 1,200 '10.0.0.1' (ip_address)",
      '  calls    1,000 to make',
      '  time     about 20 s at 49/s, the limit that the last run met',
      '  cost     12.50 at 0.0125 a call, if none has to be made twice',
    ]);
  });

  it('says that it is not known how long it takes, and nothing of what is free', () => {
    expect(planBlock(PLAN)).toEqual([
      '  rows     1',
      '  unique   1,000 domains',
      '  invalid  none',
      '  calls    1 to make',
      '  time     not known before the limit of the API is',
    ]);
    expect(planBlock({ ...PLAN, lookups: 0, calls: 0 }).join()).not.toContain('time');
  });
});

describe('what was understood', () => {
  const column = { index: 0, name: 'site', by: 'name', example: 'acme.com' } as const;
  const event = { type: 'opened', input: 'list.csv', format: 'CSV', column } as const;

  it('is said in a line, and by what', () => {
    expect(describeInput(event)).toBe(
      "list.csv is CSV; domains are in column 'site' (guessed by name), such as 'acme.com'",
    );
    expect(
      describeInput({ ...event, column: { ...column, by: 'option', example: undefined } }),
    ).toBe("list.csv is CSV; domains are in column 'site' (as told)");
  });

  it('is a block of lines for somebody who is asked', () => {
    const others = ['Homepage', 'E-Mail'].map((name, at) => ({ index: at + 1, name }));
    expect(inputBlock({ ...event, column: { ...column, others } })).toEqual([
      'list.csv',
      '  format   CSV',
      "  domains  in column 'site' (guessed by name), such as 'acme.com'",
      "           also possible: 'Homepage', 'E-Mail'; --domain-column takes another",
    ]);
    expect(inputBlock(event)).toHaveLength(3);
  });

  it('names the other columns that may be meant, three at most', () => {
    const others = ['a', 'b', 'c', 'd', 'e'].map((name, at) => ({ index: at + 1, name }));
    expect(describeInput({ ...event, column: { ...column, others } })).toMatch(
      /such as 'acme\.com'; also possible: 'a', 'b', 'c' and 2 more; --domain-column takes another$/,
    );
  });

  it('tells columns of one name by their places, which --domain-column takes, too', () => {
    const others = [
      { index: 3, name: 'site' },
      { index: 4, name: 'E-Mail' },
    ];
    expect(describeInput({ ...event, column: { ...column, others } })).toMatch(
      /also possible: 'site' \(column 4\), 'E-Mail'; --domain-column takes another$/,
    );
  });

  it('stays on its lines, whatever the file holds', () => {
    const name = `a\nb\u001b[31m${'x'.repeat(99)}`;
    const odd = {
      ...event,
      column: { ...column, name, example: 'acme.com\r\n', others: [{ index: 1, name }] },
    };
    expect(describeInput(odd)).not.toMatch(/\p{Cc}/u);
    expect(describeInput(odd).length).toBeLessThan(300);
    expect(inputBlock(odd).join('')).not.toMatch(/\p{Cc}/u);
  });
});

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

const api = 'https://api.example';
const proxy = { variable: 'https_proxy', url: new URL('http://me:s3cret@proxy.example:3128') };

describe('what is said when calls wait', () => {
  it('names the API and its address, where that may be wrong', () => {
    for (const way of [undefined, proxy]) {
      const said = describeOut({ api, proxy: way, trouble: 'connection_refused' });
      expect(said).toMatch(/^The API at https:\/\/api\.example is out \(connection_refused\): /);
      expect(said).toMatch(/check --base-url\.$/);
    }
  });

  it('thinks of TLS where an address without it is broken off', () => {
    const said = (api: string): string =>
      describeOut({ api, proxy: undefined, trouble: 'connection_reset' });
    expect(said('http://api.example')).toMatch(/check --base-url, .+ begin with https:\/\/\.$/);
    expect(said('https://api.example')).toMatch(/check --base-url\.$/);
  });

  it('thinks of a limit where a gateway may tell it with 503', () => {
    const said = (trouble: string): string => describeOut({ api, proxy: undefined, trouble });
    expect(said('http_503')).toMatch(
      /, as nginx does, that shows when .*; --rate spares the wait\.$/,
    );
    expect(said('http_500')).not.toContain('--rate');
  });

  it('names the proxy, and nothing secret, where that is at fault', () => {
    expect(describeOut({ api, proxy, trouble: 'proxy_502' })).toBe(
      'No call gets through the proxy at proxy.example:3128 (proxy_502): calls wait until one does, up to --max-outage. If none ever did, check https_proxy.',
    );
  });

  it.each([
    ['too_many_open_files', /ulimit -n/],
    ['no_local_port', /lower --concurrency/],
    ['no_route', /no route .*: check the network/],
    ['dns_unavailable', /resolver \(DNS\) did not answer: check/],
  ])('does not blame the API for %s', (trouble, advice) => {
    const said = describeOut({ api, proxy: undefined, trouble });
    expect(said).toMatch(/^No call to the API at https:\/\/api\.example can be made from here/);
    expect(said).toMatch(advice);
    expect(said).not.toContain('is out');
  });
});
