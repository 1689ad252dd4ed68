import { expect, it } from 'vitest';
import { renderReport } from '../../src/report/page.ts';
import { faultsOf } from '../report/faults.ts';
import { columnAt, progressAt, recordRun, reportOf, rowOf } from '../report/recordings.ts';

it('a report of a million rows is below 2 MB, though each row is as long and as odd as can be', () => {
  const columns = Array.from({ length: 700 }, (_, at) => columnAt(at, `${'é'.repeat(300)}${at}`));
  const { recording, recorder, beginRows } = recordRun(columns);
  const take = beginRows();
  const million = 1_000_000;
  const long = '"<&>\'é'.repeat(100);
  const answer = { kind: 'rejected', httpStatus: 422, reason: 'no' } as const;
  const batch = Array.from({ length: 10_000 }, (_, at) =>
    rowOf({
      number: million - at,
      domain: `${'d'.repeat(60)}.${at}.${'x'.repeat(180)}.com`,
      status: 'rejected',
      reason: at > 1_000 ? 'timeout' : `${long} ${'q'.repeat(at % 700)}`,
      raw: long,
      attempts: at,
    }),
  );
  for (let calls = 0; calls < million; calls += batch.length) {
    for (const [at, { domain }] of batch.entries()) {
      recorder.answered({ domain, answer, latencyMs: at * 6 }, (calls + at) * 20);
    }
    take(batch);
    recorder.onEvent({ type: 'progress', ...progressAt((calls + batch.length) * 20, { calls }) });
  }
  const value = rowOf({ values: columns.map(() => 'x') });
  take([value]);
  const report = reportOf({ recording });
  expect(faultsOf(report)).toEqual([]);
  expect(report.columns).toHaveLength(500);
  expect(report.reasons).toHaveLength(40);
  expect(report.calls.measured).toBe(million);
  const json = JSON.stringify(report, null, 2);
  const page = renderReport(report);
  expect(Buffer.byteLength(json)).toBeLessThan(2_000_000);
  expect(Buffer.byteLength(page)).toBeLessThan(2_000_000);
});
