import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import { createTopList } from '../../src/report/run-recorder.ts';
import { columnAt, progressAt, recordRun, rowOf } from './recordings.ts';

describe('a recorder', () => {
  it('counts in how many enriched rows each column has a value', () => {
    const { recording, beginRows } = recordRun([
      columnAt(0, 'brand_name'),
      columnAt(1, 'brand_city'),
    ]);
    const { take } = beginRows();
    take([rowOf({ values: ['Acme', null] }), rowOf({ values: ['', 'Ulm'] })]);
    take([rowOf({ values: [0, undefined] }), rowOf({ status: 'failed', values: ['x', 'y'] })]);
    expect(recording.rows?.fills.columns).toEqual([
      { name: 'brand_name', rows: 2 },
      { name: 'brand_city', rows: 1 },
    ]);
    expect(recording.rows?.statuses).toMatchObject({ found: 3, failed: 1 });
  });

  it('knows the domains that were tried most often in this run', () => {
    const { recording, beginRows } = recordRun();
    beginRows().take([
      rowOf({ domain: 'once.com' }),
      rowOf({ domain: 'twice.com', attempts: 2, number: 2 }),
      rowOf({ domain: 'six.com', attempts: 6, status: 'failed', reason: 'timeout', number: 3 }),
      rowOf({ domain: 'six.com', attempts: 6, status: 'failed', reason: 'timeout', number: 4 }),
      rowOf({ domain: 'last-week.com', attempts: 9, fetchedAtMs: 4, number: 5 }),
    ]);
    expect(recording.rows?.mostRetried.entries).toMatchObject([
      { domain: 'six.com', attempts: 6, reason: 'timeout', number: 3 },
      { domain: 'twice.com', attempts: 2 },
    ]);
  });

  it('knows the slowest call of each domain, and what calls came to', () => {
    const { recording, recorder } = recordRun();
    const found = { kind: 'found', httpStatus: 200, json: '{}', shape: [] } as const;
    const timeout = { kind: 'try_again', httpStatus: undefined, reason: 'timeout' } as const;
    recorder.answered({ domain: 'a.com', answer: found, latencyMs: 20 }, 100);
    recorder.answered({ domain: 'b.com', answer: timeout, latencyMs: 60_000 }, 60_200);
    recorder.answered({ domain: 'b.com', answer: found, latencyMs: 30 }, 60_300);
    expect(recording.slowest.entries).toEqual([
      { domain: 'b.com', latencyMs: 60_000, answer: 'timeout' },
      { domain: 'a.com', latencyMs: 20, answer: '200' },
    ]);
    expect([...recording.answers]).toEqual([
      ['200', 2],
      ['timeout', 1],
    ]);
    const { calls, p50Ms, maxMs } = recording.latencies.describe() ?? {};
    expect({ calls, p50Ms }).toEqual({ calls: 3, p50Ms: 30 });
    expect(maxMs).toBeCloseTo(60_000, -2);
  });

  it('counts a 200 that cannot be used under the reason, and other answers under their status', () => {
    const { recording, recorder } = recordRun();
    const answers: readonly Answer[] = [
      { kind: 'invalid_response', httpStatus: 200, reason: 'invalid_response' },
      { kind: 'refused', httpStatus: 200, reason: 'response_too_large' },
      { kind: 'refused', httpStatus: undefined, reason: 'response_too_large' },
      { kind: 'rejected', httpStatus: 422, reason: 'no such domain' },
      { kind: 'not_found', httpStatus: 404 },
    ];
    for (const answer of answers) recorder.answered({ domain: 'a.com', answer, latencyMs: 20 }, 1);
    expect([...recording.answers]).toEqual([
      ['invalid_response', 1],
      ['response_too_large', 2],
      ['422', 1],
      ['404', 1],
    ]);
  });

  it('has begun with the first call, or when the rows are written without one', () => {
    const called = recordRun();
    called.recorder.onEvent({ type: 'progress', ...progressAt(250) });
    expect(called.recording.hasBegun).toBe(false);
    called.recorder.onEvent({ type: 'progress', ...progressAt(500, { calls: 1 }) });
    expect(called.recording.hasBegun).toBe(true);
    const fresh = recordRun();
    fresh.recorder.onEvent({ type: 'writing', rows: 3 });
    expect(fresh.recording.hasBegun).toBe(true);
  });

  it('keeps twenty remarks at most', () => {
    const { recording, recorder } = recordRun();
    for (let at = 0; at < 30; at += 1)
      recorder.onEvent({ type: 'notice', message: `remark ${at}` });
    expect(recording.notices).toHaveLength(20);
    expect(recording.notices[0]).toBe('remark 0');
  });
});

interface Entry {
  readonly domain: string;
  readonly size: number;
}

const sizeOf = ({ size }: Entry): number => size;

describe('a top list', () => {
  it('keeps the largest entry of each domain, the largest first', () => {
    const list = createTopList<Entry>(2, sizeOf);
    list.offer({ domain: 'a', size: 1 });
    list.offer({ domain: 'b', size: 5 });
    list.offer({ domain: 'c', size: 3 });
    list.offer({ domain: 'c', size: 9 });
    list.offer({ domain: 'c', size: 4 });
    list.offer({ domain: 'd', size: 2 });
    expect(list.entries).toEqual([
      { domain: 'c', size: 9 },
      { domain: 'b', size: 5 },
    ]);
  });
});
