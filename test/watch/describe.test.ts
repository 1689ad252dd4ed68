import { describe, expect, it } from 'vitest';
import {
  describeInput,
  describePlan,
  describeStop,
  describeSummary,
} from '../../src/watch/describe.ts';
import { createStatusCounts, type Summary } from '../../src/watch/summary.ts';

const SUMMARY: Summary = {
  rows: 1_234,
  statuses: { ...createStatusCounts(), found: 1_230, not_found: 3, failed: 1 },
  uniqueDomains: 1_200,
  freshDomains: 200,
  lookups: 1_000,
  calls: 1_010,
  retries: 9,
  throttled: 1,
  elapsedMs: 65_000,
  lookupMs: 50_500,
  callsPerSecond: 20,
  stopped: undefined,
  out: 'o.csv',
  failures: 'f.csv',
};

describe('describeSummary', () => {
  it('says how all rows ended, what it took, and where they are', () => {
    expect(describeSummary(SUMMARY)).toEqual([
      '1,234 rows in 1 min 5 s: 1,230 found, 3 not found, 1 failed',
      '1,010 calls for 1,000 domains, 200 fresh; 9 retries, 1 throttled, 20.0 calls/s',
      '  rows      o.csv',
      '  failures  f.csv (4 rows)',
    ]);
  });

  it('says how to go on where the run was stopped', () => {
    const lines = describeSummary({ ...SUMMARY, out: '-', stopped: { reason: 'quota' } });
    expect(lines).toContain('  rows      standard output');
    expect(lines.at(-1)).toMatch(/run the same command again to go on/);
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

describe('describePlan', () => {
  const PLAN = {
    rows: 1,
    uniqueDomains: 1_000,
    invalidRows: 0,
    freshDomains: 0,
    lookups: 1,
    raggedRows: 0,
    blankLines: 0,
  };

  it('is one line, unless something is odd', () => {
    expect(describePlan(PLAN)).toEqual([
      'Plan: 1 row, 1,000 unique domains, 0 invalid, 0 fresh, 1 call to make',
    ]);
    expect(describePlan({ ...PLAN, raggedRows: 2, blankLines: 1 }).slice(1)).toEqual([
      '2 rows with more or fewer cells than the header, kept as they are',
      '1 blank line left out',
    ]);
  });
});

describe('describeInput', () => {
  const column = { index: 0, name: 'site', by: 'name', example: 'acme.com' } as const;

  it('says what was understood, and by what', () => {
    const event = { type: 'opened', input: 'list.csv', format: 'CSV', column } as const;
    expect(describeInput(event)).toBe(
      "list.csv is CSV; domains are in column 'site' (guessed by name), such as 'acme.com'",
    );
    expect(
      describeInput({ ...event, column: { ...column, by: 'option', example: undefined } }),
    ).toBe("list.csv is CSV; domains are in column 'site' (as told)");
  });

  it('is one line, whatever the file holds', () => {
    const line = describeInput({
      type: 'opened',
      input: 'list.csv',
      format: 'CSV',
      column: { ...column, name: `a\nb\u001b[31m${'x'.repeat(99)}`, example: 'acme.com\r\n' },
    });
    expect(line).not.toMatch(/\p{Cc}/u);
    expect(line.length).toBeLessThan(200);
  });
});

describe('describeStop', () => {
  it('says why, and when to come back if that is known', () => {
    expect(describeStop({ reason: 'unauthorized' })).toMatch(/401.*BRANDFILL_API_KEY/);
    expect(describeStop({ reason: 'forbidden' })).toMatch(/403/);
    expect(describeStop({ reason: 'max_calls' })).toMatch(/--max-calls/);
    expect(describeStop({ reason: 'interrupted' })).toMatch(/Interrupted/);
    expect(describeStop({ reason: 'quota', comeBackAtMs: 0 })).toMatch(/1970-01-01T00:00:00/);
  });
});
