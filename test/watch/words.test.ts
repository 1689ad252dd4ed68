import { describe, expect, it } from 'vitest';
import { STOPS, type StopReason, wayOf } from '../../src/calls/stops.ts';
import { REASONS } from '../../src/common/reasons.ts';
import { onPage } from '../../src/page/app/words.ts';
import { describeEnd, describeStop } from '../../src/watch/describe.ts';
import { recordRun } from '../../src/watch/record-run.ts';
import { adviseOn } from '../../src/watch/row-reasons.ts';
import { createStatusCounts } from '../../src/watch/run-view.ts';
import { GO_ON } from '../../src/watch/words.ts';
import { stopForWait } from '../../src/worker/stop-switch.ts';

describe('words', () => {
  it.each([
    ["Check option 'baseUrl'.", 'Check the address of the API.'],
    [GO_ON, 'What was found is kept: press Go on.'],
    [
      'It is kept: run the same command again after noon to go on.',
      'It is kept: press Go on after noon.',
    ],
    ['Done. Run the same command again.', 'Done. Press Go on.'],
    ['Try: brandfill try DOMAIN.', 'Try: ask about three companies, under Columns.'],
    [
      "After 15 min of that (option 'maxWait') the run stops.",
      'After 15 min of that the run stops.',
    ],
    ["Name it with option 'encoding'.", 'Name it with the encoding.'],
  ])('%s has the terms of the page there: %s', (onTerminal, there) => {
    expect(onPage(onTerminal)).toBe(there);
  });

  it('of every stop, reason and wrong address are whole, and name no flag on a page', () => {
    const reasons = Object.keys(STOPS) as StopReason[];
    const seen = ['no_json', 'same_answer', 'dns_failure'] as const;
    const wrong = seen.map((seen) => ({ reason: 'misdirected' as const, seen }));
    const stops = [...reasons.map((reason) => ({ reason })), ...wrong];
    for (const stop of stops) expect(describeStop(stop)).toMatch(/^[A-Z].*urther call.*\.$/);
    const said = [
      ...stops.map((stop) => describeStop(stop)),
      ...stops.map(({ reason }) => wayOf(reason).next ?? ''),
      ...Object.values(REASONS)
        .flatMap(Object.keys)
        .map((reason) => adviseOn({ status: 'failed', reason })),
    ];
    expect(said.filter((text) => /--|^[a-z]|brandfill/.test(onPage(text)))).toEqual([]);
  });

  it('do not call a domain unknown that the API is still finding out about', () => {
    const pending = { status: 'pending', reason: 'http_404', httpStatus: 404 } as const;
    expect(adviseOn(pending)).toBe('The API is still finding out: the next run asks again.');
  });

  it('say when to come back, and what the API said', () => {
    const refusal = { httpStatus: 402, said: 'pay first', reason: 'http_402' } as const;
    expect(describeStop({ reason: 'quota', refusal, comeBackAtMs: 0 })).toBe(
      "The quota of the API is used up. It answered 402: 'pay first'. No further call is made. It said to come back at 1970-01-01T00:00:00.000Z.",
    );
  });

  it('say what the first calls got, whether it is a refusal or a record', () => {
    const refusal = { httpStatus: 404, said: 'no route', reason: 'http_404' } as const;
    expect(describeStop({ reason: 'misdirected', seen: 'none_known', refusal })).toMatch(
      /path is wrong.*Nothing of the first calls is kept.* It answered 404: 'no route'\./,
    );
    const wall = { httpStatus: 403, said: 'One moment', reason: 'wall' } as const;
    expect(
      describeStop({ reason: 'misdirected', seen: 'wall', refusal: wall, unsent: 'none' }),
    ).toMatch(
      /^The first calls were all alike\. A wall (?!.*A wall)(?!.*credential).*'One moment'/,
    );
  });

  it('name a wall before the API and a stated outage first, and nothing that is not to blame', () => {
    const refusal = { httpStatus: 403, said: 'One moment', reason: 'wall' } as const;
    expect(describeStop({ reason: 'refused', refusal, unsent: 'none' })).toMatch(
      /^A wall against robots(?!.*(?:'auth'|credential)).* It answered 403: 'One moment'\./,
    );
    expect(describeStop(stopForWait(7_200_000, 0, 'http_503'))).toBe(
      "The API is out (it answers 503) and says to wait longer than option 'maxWait'. No further call is made. It said to come back at 1970-01-01T02:00:00.000Z.",
    );
  });

  it.each([
    [
      'kept',
      401,
      /^Calls were made without your credential: check option 'auth', which is none\. It answered 401: 'no'/,
    ],
    ['kept', 403, /^Calls were made without your credential/],
    [
      'none',
      401,
      /^Calls were made without a credential: check option 'auth' and BRANDFILL_API_KEY\./,
    ],
    ['kept', 422, /^The API gave five/],
    [undefined, 401, /^The API refused the credential \(401\)/],
  ] as const)('say first that a credential was not sent: %s, %d', (unsent, httpStatus, words) => {
    const reason =
      httpStatus === 401 ? 'unauthorized' : httpStatus === 403 ? 'forbidden' : 'refused';
    const refusal = { httpStatus, said: 'no', reason: `http_${httpStatus}` } as const;
    const said = describeStop({ reason, refusal, unsent });
    expect(said).toMatch(words);
    expect(onPage(said)).not.toMatch(/--/);
  });

  it('say how a run ended', () => {
    const recorder = recordRun({ runId: 'x', list: '', api: '' });
    recorder.end({
      rows: 3,
      statuses: { ...createStatusCounts(), found: 1, invalid: 1, pending: 1 },
      lookups: 2,
      calls: 1_234,
      retries: 1,
      throttled: 5,
      cost: 0.5,
      callsPerSecond: 1_234,
      limit: { limitIs: 'learned', limitPerSecond: 50 },
      out: '-',
      failures: 'f.csv',
      store: { folder: '.brandfill', sizeBytes: 2_000 },
    });
    const view = recorder.read();
    const why = { status: 'failed', reason: 'x', advice: 'It broke.' } as const;
    const failed = { ...why, rows: 2, examples: [] };
    const told = describeEnd({ ...view, limit: { limitIs: 'unknown' }, reasons: [failed] });
    expect(told.join()).not.toContain('no limit met'); // calls were throttled
    expect(told).toContain('2 rows failed: It broke.');
    expect(describeEnd(view)).toEqual([
      expect.stringMatching(/^Done: 3 rows in \d+ ms, 1 found, 1 pending, 1 invalid\.$/),
      '1,234 calls for 2 domains, 1234.0 calls/s; 5 calls throttled; 1 retry; cost 0.50',
      'Pace: limit about 50/s',
      '  rows      standard output',
      '  failures  f.csv (2 rows)',
      '  store     .brandfill (2.0 KB)',
      'Run the same command again: it asks about those that failed, are pending or were not asked, and about nothing else that is fresh.',
    ]);
  });
});
