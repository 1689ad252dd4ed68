import { describe, expect, it } from 'vitest';
import type { Plan } from '../../../src/producer/plan.ts';
import { describeInput, describePlan, inputBlock, planBlock } from '../../../src/watch/describe.ts';

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
