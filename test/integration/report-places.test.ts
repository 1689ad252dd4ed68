import { describe, expect, it } from 'vitest';
import { renderReport } from '../../src/report/page.ts';
import { type RunReport, runReportSchema } from '../../src/report/run-report.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { faultsOf } from '../report/faults.ts';
import { columnAt, progressAt, recordRun, reportOf, rowOf } from '../report/recordings.ts';
import { row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { useRedis } from '../support/redis.ts';
import { openApi, openScripted } from './support/api.ts';
import { start, summaryOf } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { domains, listOf } from './support/tables.ts';

const BOTH = ['--report', 'run.html', '--report', 'run.json'];

function reportIn(folder: Folder): RunReport {
  return runReportSchema.parse(JSON.parse(folder.read('run.json')));
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

describe('--report', () => {
  it('of a run over Redis tells of calls that workers elsewhere made, and of the limit that they keep', async () => {
    const redis = await useRedis();
    const api = await openApi({ errors: 0.1, limit: { count: 100, perMs: 1_000 } });
    const folder = openList(`${listOf(domains(150))}n/a\n`);
    const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url };
    const worker = await start(['worker', '--rate', '100/s'], { cwd: folder.path, env });
    await worker.shows('Waiting for lookups');
    const flags = ['--workers', '0', '--rate', '100/s', '--retries', '1', '--json', '--price', '2'];
    const ended = await runHere(['enrich', 'list.csv', ...flags, ...BOTH], {
      cwd: folder.path,
      env,
    });
    const { statuses, calls, retries } = summaryOf(ended);
    const report = reportIn(folder);
    expect(report).toMatchObject({
      run: { exitCode: ended.code },
      rows: { total: 151, statuses },
      domains: { due: 150, lookedUp: 150 },
      calls: { total: calls, retries, measured: 0, answers: [] },
      latency: null,
    });
    expect(calls).toBe(api.stats().calls);
    expect(report.cost).toMatchObject({ calls, total: 2 * calls });
    expect(report.mostRetried.length).toBeGreaterThan(0);
    const { spans, spanMs } = report.timeline;
    const seen = sumOf(spans.map(({ callsPerSecond }) => (callsPerSecond * spanMs) / 1_000));
    expect(seen).toBeGreaterThan(0.8 * calls);
    expect(spans.at(-1)?.limitPerSecond).toBe(100);
    expect(folder.read('run.html')).toContain('Workers elsewhere made these calls');
  });

  it('of a run with --merge tells of the rows that were looked up again, and where they went', async () => {
    const folder = openList('name,domain\nAcme,acme.com\nBolt,bolt.com\nCo,co.com\nNone,n/a\n');
    const says: Record<string, SandboxReply> = {
      'bolt.com': { status: 500 },
      'co.com': { status: 500 },
    };
    const { url } = await openScripted(says);
    const flags = ['--base-url', url, '--retries', '0', '--max-failed', '100%'];
    await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path });
    says['bolt.com'] = { body: { name: 'Bolt' } };
    const merge = [
      'enrich',
      'list.failures.csv',
      '--merge',
      'list.enriched.csv',
      ...flags,
      ...BOTH,
    ];
    expect((await runHere(merge, { cwd: folder.path })).code).toBe(3);
    const { run: ended, rows, calls, reasons, columns, files } = reportIn(folder);
    expect(ended).toMatchObject({ input: 'list.failures.csv', end: 'some_failed' });
    expect(rows).toMatchObject({ total: 3, statuses: { found: 1, failed: 1, invalid: 1 } });
    expect(calls).toMatchObject({ total: 2, measured: 2 });
    expect(reasons.map(({ reason, examples }) => [reason, examples[0]?.cell])).toEqual([
      ['http_500', 'co.com'],
      ['empty', 'n/a'],
    ]);
    expect(columns).toEqual([{ name: 'brand_name', rows: 1 }]);
    expect(files).toMatchObject({ out: 'list.enriched.csv', failures: 'list.failures.csv' });
    expect(folder.read('run.html')).toContain('Done: 1 of 3 rows enriched, 1 row failed.');
    expect(folder.read('list.enriched.csv')).toContain(
      'Bolt,bolt.com,bolt.com,found,<time>,Bolt\n',
    );
  });

  it('of a workbook shows rows as people see them, and names the sheet of the failures', async () => {
    const folder = openFolder();
    const rows = [
      row(1, 'Name', 'Website'),
      row(2, 'Acme', 'acme.com'),
      row(3, 'Bolt &amp; Sons', 'bolt.com'),
      row(4, 'Nobody', 'n/a'),
    ];
    const sheet = { name: 'Accounts', rows: rows.join('') };
    folder.write('list.xlsx', await workbookOf({ sheets: [sheet] }));
    const { url } = await openScripted({ 'bolt.com': { status: 404 } });
    const args = ['enrich', 'list.xlsx', '--base-url', url, ...BOTH];
    expect((await runHere(args, { cwd: folder.path })).code).toBe(0);
    const report = reportIn(folder);
    expect(report).toMatchObject({
      run: {
        format: "XLSX, sheet 'Accounts', header in row 1",
        domainColumn: 'Website',
        end: 'done',
      },
      rows: { total: 3, statuses: { found: 1, not_found: 1, invalid: 1 }, areWritten: true },
      files: { out: 'list.enriched.xlsx', failuresSheet: 'failures' },
      columns: [{ name: 'brand_name', rows: 1 }],
    });
    expect(report.reasons.flatMap(({ examples }) => examples)).toEqual([
      { row: 2, domain: 'bolt.com', cell: 'bolt.com', text: 'Bolt & Sons | bolt.com' },
      { row: 3, domain: '', cell: 'n/a', text: 'Nobody | n/a' },
    ]);
    const page = folder.read('run.html');
    expect(page.split('They are all in')).toHaveLength(2);
    expect(page).toContain('the sheet <code>failures</code> of <code>list.enriched.xlsx</code>.');
    expect(page.split('sheet &#39;failures&#39; of list.enriched.xlsx')).toHaveLength(2);
  });
});

it('a report of a million rows is below 2 MB, though each row is as long and as odd as can be', () => {
  const columns = Array.from({ length: 700 }, (_, at) => columnAt(at, `${'é'.repeat(300)}${at}`));
  const { recording, recorder, beginRows } = recordRun(columns);
  const { take } = beginRows();
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
