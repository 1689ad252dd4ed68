import { describe, expect, it } from 'vitest';
import { describeEnd, describeStop } from '../../src/watch/describe.ts';
import { recordRun } from '../../src/watch/record-run.ts';
import { createStatusCounts } from '../../src/watch/run-view.ts';
import { inWords, ON_PAGE, ON_TERMINAL, STOPS } from '../../src/watch/words.ts';
import type { StopReason } from '../../src/worker/stop-switch.ts';

describe('words', () => {
  it.each([
    ['Check {baseUrl}.', 'Check --base-url.', 'Check the address of the API.'],
    [
      'It is kept: {again}{toGoOn}.',
      'It is kept: run the same command again to go on.',
      'It is kept: press Go on.',
    ],
    ['Done. {again}.', 'Done. Run the same command again.', 'Done. Press Go on.'],
    ['{again}.', 'Run the same command again.', 'Press Go on.'],
    [
      'Try: {tryOne}.',
      'Try: brandfill try DOMAIN.',
      'Try: ask about three companies, under Columns.',
    ],
  ])('%s has the names of its surface', (text, onTerminal, onPage) => {
    expect(inWords(text, ON_TERMINAL)).toBe(onTerminal);
    expect(inWords(text, ON_PAGE)).toBe(onPage);
  });

  it('of every stop and every wrong address are whole, and name no flag on a page', () => {
    const stops = [
      ...Object.keys(STOPS).map((reason) => ({ reason: reason as StopReason })),
      ...(['no_json', 'same_answer', 'dns_failure'] as const).map((seen) => ({
        reason: 'misdirected' as const,
        seen,
      })),
    ];
    for (const stop of stops) {
      expect(describeStop(stop)).toMatch(/^[A-Z].*urther call.*\.$/);
      expect(describeStop(stop)).not.toMatch(/[{}]/);
      expect(describeStop(stop, ON_PAGE)).not.toMatch(/[{}]|--/);
    }
  });

  it('say when to come back, and what the API said', () => {
    const refusal = { httpStatus: 402, said: 'pay first' };
    expect(describeStop({ reason: 'quota', refusal, comeBackAtMs: 0 })).toBe(
      "The quota of the API is used up. It answered 402: 'pay first'. No further call is made. It said to come back at 1970-01-01T00:00:00.000Z.",
    );
  });

  it('say how a run ended', () => {
    const recorder = recordRun({ runId: 'x', list: '' });
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
    const failed = {
      status: 'failed' as const,
      reason: 'x',
      rows: 2,
      advice: 'It broke.',
      examples: [],
    };
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
