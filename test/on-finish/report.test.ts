import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createReport, type FinishedRun, reportVariables } from '../../src/commands/on-finish.ts';
import type { Summary } from '../../src/watch/summary.ts';

const SUMMARY: Summary = {
  runId: '0123456789ab',
  rows: 5,
  statuses: {
    found: 2,
    stale: 0,
    not_found: 1,
    rejected: 0,
    failed: 1,
    pending: 0,
    invalid: 1,
    skipped: 0,
  },
  uniqueDomains: 4,
  freshDomains: 0,
  lookups: 4,
  calls: 6,
  retries: 2,
  throttled: 0,
  cost: undefined,
  elapsedMs: 1_500,
  lookupMs: 1_000,
  callsPerSecond: 6,
  pace: undefined,
  store: { folder: '.brandfill', sizeBytes: 4_096 },
  stopped: undefined,
  out: 'out/a.csv',
  failures: '/tmp/f.csv',
  failuresSheet: undefined,
  filled: undefined,
  logos: undefined,
  changes: { file: 'out/c.csv', new: 1, changed: 0 },
};

const RUN: FinishedRun = {
  job: 'nightly',
  file: 'jobs/nightly.yaml',
  exitCode: 3,
  startedAt: new Date('2026-11-21T01:30:00Z'),
  finishedAt: new Date('2026-11-21T01:31:00Z'),
};

describe('the report of a run', () => {
  it('is the summary, and what a receiver needs beside it', () => {
    expect(createReport({ ...RUN, summary: SUMMARY })).toEqual({
      ...SUMMARY,
      job: 'nightly',
      file: resolve('jobs/nightly.yaml'),
      exitCode: 3,
      startedAt: '2026-11-21T01:30:00.000Z',
      finishedAt: '2026-11-21T01:31:00.000Z',
      text: expect.stringMatching(/^brandfill nightly: done, some rows failed\n5 rows in 1\.5 s: /),
      out: resolve('out/a.csv'),
      changes: { file: resolve('out/c.csv'), new: 1, changed: 0 },
      store: { folder: resolve('.brandfill'), sizeBytes: 4_096 },
    });
  });

  it('leaves standard output as it is', () => {
    expect(createReport({ ...RUN, summary: { ...SUMMARY, out: '-' } }).out).toBe('-');
  });

  it('says what went wrong where there is no summary', () => {
    const report = createReport({ ...RUN, exitCode: 2, error: 'Cannot read a.csv: gone.' });
    expect(report).toMatchObject({ exitCode: 2, error: 'Cannot read a.csv: gone.' });
    expect(report.text).toBe('brandfill nightly: could not be run\nCannot read a.csv: gone.');
    expect(report).not.toHaveProperty('rows');
  });

  it('has its numbers in variables too, those that there are', () => {
    expect(reportVariables(createReport({ ...RUN, summary: SUMMARY }))).toEqual({
      BRANDFILL_JOB: 'nightly',
      BRANDFILL_JOB_FILE: resolve('jobs/nightly.yaml'),
      BRANDFILL_EXIT_CODE: '3',
      BRANDFILL_ROWS: '5',
      BRANDFILL_FOUND: '2',
      BRANDFILL_STALE: '0',
      BRANDFILL_NOT_FOUND: '1',
      BRANDFILL_REJECTED: '0',
      BRANDFILL_FAILED: '1',
      BRANDFILL_PENDING: '0',
      BRANDFILL_INVALID: '1',
      BRANDFILL_SKIPPED: '0',
      BRANDFILL_CALLS: '6',
      BRANDFILL_OUT: resolve('out/a.csv'),
      BRANDFILL_FAILURES: '/tmp/f.csv',
      BRANDFILL_CHANGES: resolve('out/c.csv'),
    });
    const paid = reportVariables(createReport({ ...RUN, summary: { ...SUMMARY, cost: 0.06 } }));
    expect(paid).toMatchObject({ BRANDFILL_COST: '0.06' });
    const failed = reportVariables(createReport({ ...RUN, exitCode: 2, error: 'no' }));
    const there = Object.keys(failed).filter((name) => failed[name] !== undefined);
    expect(there.sort()).toEqual([
      'BRANDFILL_ERROR',
      'BRANDFILL_EXIT_CODE',
      'BRANDFILL_JOB',
      'BRANDFILL_JOB_FILE',
    ]);
  });
});
