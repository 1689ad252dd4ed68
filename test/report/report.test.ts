import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ReportedRun } from '../../src/report/report.ts';
import { openReportFiles } from '../../src/report/report-files.ts';
import type { RunReport } from '../../src/report/run-report.ts';
import { createStatusCounts } from '../../src/watch/summary.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { faultsOf } from './faults.ts';
import {
  columnAt,
  planOf,
  progressAt,
  recordRun,
  reportOf,
  rowOf,
  settingsOf,
  summaryOf,
} from './recordings.ts';

/** A run with something of everything. */
function eventfulRun(): Partial<ReportedRun> {
  const { recording, recorder, beginRows } = recordRun([columnAt(0, 'brand_name')]);
  const column = { index: 1, name: 'Website', by: 'name', example: undefined } as const;
  recorder.onEvent({ type: 'opened', input: 'list.csv', format: 'CSV', column });
  const plan = { rows: 4, uniqueDomains: 3, invalidRows: 1, freshDomains: 1, lookups: 2 };
  const odd = { raggedRows: 1, blankLines: 2, cost: 0.02 };
  recorder.onEvent({ type: 'planned', plan: planOf({ ...plan, ...odd }) });
  recorder.onEvent({ type: 'notice', message: 'Something is odd.' });
  const pace = { ratePerSecond: 9, limitIs: 'learned', learnedLimitPerSecond: 10 } as const;
  recorder.onEvent({
    type: 'progress',
    ...progressAt(400, { calls: 3, done: 2, pace: { ...pace, waitMs: 0, why: 'told_to_wait' } }),
  });
  const answer = { kind: 'found', httpStatus: 200, json: '{}', shape: [] } as const;
  recorder.answered({ domain: 'acme.com', answer, latencyMs: 12.34 }, 100);
  recorder.onEvent({ type: 'writing', rows: 4 });
  const rows = [
    rowOf({ values: ['Acme'] }),
    rowOf({ number: 2, domain: '', status: 'invalid', reason: 'empty', httpStatus: undefined }),
    rowOf({ number: 3, domain: 'b.com', status: 'failed', reason: 'http_503', attempts: 6 }),
    rowOf({ number: 4, domain: 'c.com', status: 'rejected', reason: 'Go away', httpStatus: 403 }),
  ];
  beginRows().take(rows);
  return {
    recording,
    settings: settingsOf({ auth: 'bearer', price: '0.01' }),
    summary: summaryOf({
      rows: 4,
      statuses: { ...createStatusCounts(), found: 1, invalid: 1, failed: 1, rejected: 1 },
      calls: 3,
      throttled: 1,
      cost: 0.02,
      pace: {
        limitIs: 'learned',
        limitPerSecond: 10,
        mostAtOnce: 4,
        throttledShare: 1 / 3,
        waitedMs: { told: 400, backingOff: 0, outage: 0, retryBudget: 0 },
      },
      filled: { Industry: 1 },
      changes: { file: 'changes.csv', new: 1, changed: 0 },
    }),
  };
}

describe('the data of a report', () => {
  it('is as its schema says, of a run with something of everything and of one with nothing', () => {
    expect(faultsOf(reportOf(eventfulRun()))).toEqual([]);
    expect(faultsOf(reportOf())).toEqual([]);
    const error = { thrown: new Error('Disk'), message: 'The disk is full.' };
    expect(faultsOf(reportOf({ ...eventfulRun(), summary: undefined, error }))).toEqual([]);
    expect(faultsOf({ ...reportOf(), more: 1 } as RunReport)).not.toEqual([]);
  });

  it('says what the run did', () => {
    expect(reportOf(eventfulRun())).toMatchObject({
      version: 1,
      brandfill: '1.2.3',
      run: {
        input: 'list.csv',
        domainColumn: 'Website',
        startedAt: '2026-11-21T02:30:00.000Z',
        elapsedMs: 1_500,
        end: 'some_failed',
        exitCode: 3,
        headline: 'Done: 1 of 4 rows enriched, 1 row failed.',
        notices: ['Something is odd.'],
      },
      rows: { total: 4, statuses: { found: 1, failed: 1 }, areWritten: true, ragged: 1 },
      domains: { due: 2 },
      calls: { total: 3, measured: 1, answers: [{ answer: '200', calls: 1 }] },
      latency: { p50Ms: 12.3, maxMs: 12.3 },
      timeline: {
        spanMs: 250,
        spans: [{ callsPerSecond: 7.5, limitPerSecond: 10, toldMs: 250 }, {}],
      },
      pace: { limitIs: 'learned', mostAtOnce: 4 },
      cost: { perCall: 0.01, calls: 2, total: 0.02, planned: 0.02 },
      columns: [{ name: 'brand_name', rows: 1 }],
      filled: [{ name: 'Industry', rows: 1 }],
      slowest: [{ domain: 'acme.com', answer: '200' }],
      mostRetried: [{ domain: 'b.com', attempts: 6, reason: 'http_503' }],
      files: { out: 'list.enriched.csv', changes: { new: 1 } },
    });
  });

  it('says of each reason what to do, and which rows have it', () => {
    const { reasons } = reportOf(eventfulRun());
    expect(reasons.map(({ status, reason }) => `${status}: ${reason}`)).toEqual([
      'invalid: empty',
      'failed: http_503',
      'rejected: Go away',
    ]);
    for (const { advice, examples } of reasons) {
      expect(advice).toMatch(/\.$/);
      expect(examples).toHaveLength(1);
    }
  });

  it.each([
    ['redirect_without_domain', undefined, 'to an address without the domain'],
    ['invalid_response', 200, 'no JSON object in UTF-8'],
    ['timeout', undefined, 'No answer came within --timeout'],
    ['proxy_502', undefined, 'No call got through the proxy'],
    ['dns_failure', undefined, 'name is not known (DNS)'],
    ['http_503', 503, 'a fault of its own'],
    ['anything', undefined, 'No usable answer came'],
  ])('advises on %s', (reason, httpStatus, advice) => {
    const { recording, beginRows } = recordRun();
    beginRows().take([rowOf({ status: 'failed', reason, httpStatus })]);
    expect(reportOf({ recording }).reasons[0]?.advice).toContain(advice);
  });

  it('of an error has what was known by then', () => {
    const { run, rows, domains } = reportOf({
      ...eventfulRun(),
      summary: undefined,
      error: { thrown: new Error('x'), message: 'The disk is full.' },
    });
    expect(run).toMatchObject({ end: 'error', error: 'The disk is full.', exitCode: 1 });
    expect(rows).toMatchObject({ total: 4, areWritten: false });
    expect(domains).toMatchObject({ unique: 3, lookedUp: 2 });
  });

  it('has the credential nowhere, wherever it came from', () => {
    const { recording, recorder, beginRows } = recordRun();
    recorder.onEvent({ type: 'notice', message: 'The key is hush-1234.' });
    beginRows().take([
      rowOf({ status: 'rejected', reason: 'hush-1234', raw: 'hush-1234,hush-1234\n' }),
    ]);
    const report = reportOf({ recording, redact: (text) => text.replaceAll('hush-1234', '***') });
    expect(JSON.stringify(report)).not.toContain('hush');
    expect(report.reasons[0]?.examples[0]).toMatchObject({ cell: '***', text: '***,***' });
  });
});

it('writes the other reports when one of them has no folder any more', async () => {
  const folder = useTempFolder();
  const [lost, kept] = ['lost', 'kept'].map((name) => join(folder, name, 'run.json'));
  if (!lost || !kept) throw new Error('there are two');
  for (const name of ['lost', 'kept']) mkdirSync(join(folder, name));
  const files = await openReportFiles([lost, kept], undefined);
  rmSync(join(folder, 'lost'), { recursive: true });
  const errors: unknown[] = [];
  const report = { version: 1 } as unknown as RunReport;
  expect(await files.write(report, (error) => errors.push(error))).toEqual([kept]);
  expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(lost) })]);
  expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual({ version: 1 });
  await files.close();
});
