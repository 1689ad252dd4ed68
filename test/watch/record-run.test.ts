import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Outcome } from '../../src/calls/outcome.ts';
import type { JoinedRow } from '../../src/collector/joined-row.ts';
import { createRunControl } from '../../src/common/run-control.ts';
import type { Progress, RunEvent } from '../../src/watch/events.ts';
import { recordRun } from '../../src/watch/record-run.ts';
import { createStatusCounts } from '../../src/watch/run-view.ts';
import { describeWait } from '../../src/watch/words.ts';
import type { Failing } from '../../src/worker/pace-memory.ts';
import { outcomeOf } from '../store/outcomes.ts';
import { PROGRESS } from './progress.ts';

const PLANNED = {
  type: 'planned',
  plan: { freshDomains: 2, freshRows: 2, invalidRows: 1, lookups: 6, uniqueDomains: 8, rows: 10 },
} as RunEvent;

const ENDED = { statuses: { ...createStatusCounts(), found: 9, invalid: 1 }, calls: 7 };

const PACE = { limit: { limitIs: 'unknown' }, waitMs: 0 } as const;

function failing(isOut: boolean, reason?: string, lastedMs = 90_000): Failing {
  return { isOut, reason, lastedMs };
}

function progress(change: Partial<Progress>): RunEvent {
  return { type: 'progress', ...PROGRESS, due: 6, ...change };
}

describe('the picture of a run', () => {
  it('has its outages with their times, the API and the command', () => {
    const about = { api: 'https://api.example', command: "brandfill enrich 'my list.csv'" };
    const recorder = recordRun({ runId: 'abc', list: 'list.csv', ...about });
    const out = { ...PACE, failing: { isOut: true, lastedMs: 0, reason: 'http_503' } };
    for (const pace of [PACE, out, out, PACE, PACE, out])
      recorder.onEvent(progress({ pace, calls: 1 }));
    recorder.end(ENDED);
    expect(recorder.read()).toMatchObject({
      ...about,
      pace: 'no limit met',
      outages: [
        { why: 'http_503', from: expect.any(String), until: expect.any(String) },
        { why: 'http_503', from: expect.any(String) },
      ],
    });
  });

  it('follows its events', () => {
    const control = createRunControl();
    const recorder = recordRun({ runId: 'abc', list: 'list.csv', api: '', control });
    const seen: string[] = [];
    const take = (event: RunEvent): void => {
      recorder.onEvent(event);
      const { phase, lookups, actions } = recorder.read();
      seen.push(`${phase} ${lookups} ${actions.join()}`);
    };
    expect(recorder.read().phase).toBe('reading');
    take(PLANNED);
    take(progress({ lookups: 2, calls: 3, lookupMs: 250, pendingNow: 4 }));
    control.pause();
    take(progress({ lookups: 3, lookupMs: 750 }));
    expect(recorder.read()).toMatchObject({ isPaused: true, wait: { why: 'paused' } });
    control.resume();
    take({ type: 'stopping', stop: { reason: 'interrupted' } });
    take({ type: 'writing' });
    expect(seen).toEqual([
      'looking_up 0 pause,stop',
      'looking_up 2 pause,stop',
      'looking_up 3 resume,stop',
      'stopping 3 ',
      'writing 3 ',
    ]);
    recorder.end(ENDED);
    const ended = { phase: 'ended', pendingNow: 0, rows: 10, end: 'done', statuses: { found: 9 } };
    expect(recorder.read()).toMatchObject(ended);
  });

  const failed = (waitMs: number, ...how: Parameters<typeof failing>): Partial<Progress> => ({
    pace: { ...PACE, waitMs, failing: failing(...how) },
  });

  /** What calls wait for at noon. */
  function waitOf(change: Partial<Progress>): string | undefined {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 0, 5, 12) });
    onTestFinished(() => void vi.useRealTimers());
    const recorder = recordRun({ runId: 'abc', list: '', api: '' });
    recorder.onEvent(PLANNED);
    recorder.onEvent(progress(change));
    const { wait } = recorder.read();
    return wait && describeWait(wait);
  }

  it.each(
    Object.entries<Partial<Progress>>({
      'No worker is there': { stall: { why: 'no_worker', text: 'No worker is there' } },
      'The API has been out since 11:58 (nothing listens there); next try in 26 s': failed(
        25_400,
        true,
        'connection_refused',
      ),
      'The API has refused every call since 11:58 (it answers 403); trying it now': failed(
        0,
        false,
        'http_403',
      ),
      'The API has refused every call since 11:58; next try in 1 s': failed(1_000, false),
      'The API says to wait: calls go on in 1 min 30 s': {
        pace: { ...PACE, waitMs: 90_000, statedMs: 90_000 },
        pendingWaitMs: 9_000,
      },
      'Only pending domains are left: all are asked again within 9 s': {
        pace: PACE,
        pendingWaitMs: 9_000,
      },
    }),
  )('says what calls wait for: %s', (words, change) => {
    expect(waitOf(change)).toBe(words);
  });

  it('says nothing where they do not wait, or in a short pause', () => {
    const short = failed(2_000, false, 'http_429', 4_900);
    expect([waitOf({}), waitOf(short)]).toEqual([undefined, undefined]);
  });

  const of = (some: Partial<typeof ENDED.statuses>) => ({ ...createStatusCounts(), ...some });

  it.each(
    Object.entries<[change: object, end: string, exitCode: number, next: string | undefined]>({
      'Done: 10 rows in 0 ms, 9 found, 1 invalid.': [{}, 'done', 0, undefined],
      'Done: 10 rows in 0 ms, 8 found, 1 stale, 1 failed.': [
        { statuses: of({ found: 8, failed: 1, stale: 1 }) },
        'some_failed',
        3,
        'Run the same command again: it asks about those that failed',
      ],
      'Done, but nothing was found: 10 rows in 0 ms, 0 found, 10 invalid.': [
        { statuses: of({ invalid: 10 }) },
        'nothing_found',
        3,
        "No row has a domain: check option 'domainColumn'.",
      ],
      'Stopped early: 10 rows in 0 ms, 4 found, 6 skipped.': [
        { statuses: of({ found: 4, skipped: 6 }), stopped: { reason: 'unauthorized' } },
        'stopped',
        4,
        'What was found before is kept: once that is fixed, run the same command again.',
      ],
      'Stopped on request: 10 rows in 0 ms, 9 found, 1 invalid.': [
        { stopped: { reason: 'interrupted' } },
        'interrupted',
        130,
        'What was found is kept',
      ],
    }),
  )('judges an end: %s', (headline, [change, end, exitCode, next]) => {
    const recorder = recordRun({ runId: 'abc', list: '', api: '' });
    recorder.end({ ...ENDED, ...change });
    const view = recorder.read();
    expect(view).toMatchObject({ end, exitCode });
    expect(view.headline?.replace(/\d+ ms/, '0 ms')).toBe(headline);
    if (next === undefined) expect(view.next).toBeUndefined();
    else expect(view.next).toContain(next);
  });
});

describe('the reasons of rows', () => {
  type Change = Partial<JoinedRow & Pick<Outcome, 'said' | 'httpStatus'>>;

  function rowOf({ said, httpStatus = 422, ...change }: Change): JoinedRow {
    const isAsked = change.status !== 'invalid';
    const outcome = isAsked ? outcomeOf('', { status: 'rejected', said, httpStatus }) : undefined;
    const refused = { domain: 'acme.com', status: 'rejected', reason: 'http_422' } as const;
    const row = { raw: 'Acme,acme.com', fields: 2, number: 1, key: '', api: 0, values: [] };
    return { ...row, ...refused, outcome, fetchedAtMs: 1, fills: undefined, ...change };
  }

  it('are counted without what differs from row to row, with advice and the first rows', () => {
    const recorder = recordRun({ runId: 'abc', list: '', api: '' });
    const rows = recorder.beginRows({
      columns: { enriched: [{ name: 'brand_name', valueOf: ({ values }) => values[0] }] },
      format: { cellOf: (raw, { index }) => raw.split(',')[index] ?? '' },
      column: { index: 1, name: 'domain' },
    });
    rows.take([
      rowOf({ said: 'acme.com is for sale, request 1234567' }),
      rowOf({ raw: 'B,b.com', domain: 'b.com', said: 'b.com is for sale, request 7654321' }),
      rowOf({ raw: 'C,', domain: '', status: 'invalid', reason: 'empty', httpStatus: undefined }),
      rowOf({ status: 'found', reason: '', values: ['Acme'] }),
      rowOf({ status: 'stale', reason: 'timeout', values: [''], httpStatus: undefined }),
    ]);
    const { reasons, columns } = recorder.read();
    expect(columns).toEqual([{ name: 'brand_name', rows: 1 }]);
    expect(reasons[0]).toEqual({
      status: 'rejected',
      reason: 'http_422',
      said: '{domain} is for sale, request …',
      httpStatus: 422,
      rows: 2,
      advice: 'The API cannot use the domain (422).',
      examples: [
        { domain: 'acme.com', cell: 'acme.com' },
        { domain: 'b.com', cell: 'b.com' },
      ],
    });
    expect(reasons.map(({ reason, advice }) => [reason, advice]).slice(1)).toEqual([
      ['empty', expect.stringContaining('The cell is blank')],
      [
        'timeout',
        expect.stringMatching(/ The next run tries again\. These rows keep an older answer\.$/),
      ],
    ]);
  });

  it('are bounded, and all counted, however many texts an API has', () => {
    const recorder = recordRun({ runId: 'abc', list: '', api: '' });
    const rows = recorder.beginRows({
      columns: { enriched: [] },
      format: { cellOf: (raw) => raw },
      column: { index: 1, name: 'domain' },
    });
    const texts = Array.from({ length: 5_000 }, (_, at) => `nothing of ${lettersOf(at)}`);
    rows.take(texts.map((said) => rowOf({ said })));
    const { reasons } = recorder.read();
    expect(reasons.length).toBeLessThanOrEqual(50);
    expect(reasons[0]).toMatchObject({ reason: 'http_422', said: undefined });
    expect(reasons[0]?.rows).toBeGreaterThan(3_900);
    expect(JSON.stringify(reasons).length).toBeLessThan(50_000);
  });
});

function lettersOf(number: number): string {
  return number.toString().replaceAll(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)));
}

it('kinds of answers are bounded, and no text of an API is one', () => {
  const recorder = recordRun({ runId: 'abc', list: '', api: '' });
  for (let at = 0; at < 2_000; at += 1) {
    const said = `nothing of ${at}`;
    const common = { said, fingerprint: said, form: 'json', limits: undefined } as const;
    const meaning = { ...common, kind: 'rejected', reason: 'no_record', httpStatus: 200 } as const;
    recorder.answered({ domain: `${at}.com`, meaning, latencyMs: 1 });
    const ofStatus = { ...meaning, reason: 'http_422', httpStatus: 100 + (at % 900) } as const;
    recorder.answered({ domain: `${at}.com`, meaning: ofStatus, latencyMs: 1 });
  }
  const { answers } = recorder.read();
  expect(Object.keys(answers).length).toBeLessThanOrEqual(51);
  expect(Object.values(answers).reduce((sum, count) => sum + count)).toBe(4_000);
  expect(Object.keys(answers).filter((name) => !/^(?:\d{3}|[a-z_]+)$/.test(name))).toEqual([]);
});
