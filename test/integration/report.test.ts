import { appendFileSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { type EnrichOptions, enrich } from '../../src/index.ts';
import { type RunReport, runReportSchema } from '../../src/report/run-report.ts';
import { createGate } from '../support/gate.ts';
import { openApi, openScripted } from './support/api.ts';
import { start, summaryOf } from './support/command.ts';
import { type Folder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { enrichHere, runHere } from './support/program.ts';

const BOTH = ['--report', 'run.html', '--report', 'run.json'];

/** The report in a file, which is as its schema says. */
function reportIn(folder: Folder, name = 'run.json'): RunReport {
  return runReportSchema.parse(JSON.parse(folder.read(name)));
}

/** Everything below a folder, as one text; what is not text as Latin letters. */
function allIn(path: string): string {
  const files = readdirSync(path, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
    .join('\n');
}

describe('--report', () => {
  it('writes a page and its data, which say what the summary says', async () => {
    const folder = openList('name,domain\nAcme,acme.com\nBolt,bolt.com\nCo,co.com\nNone,n/a\n');
    const api = await openScripted({
      'bolt.com': { status: 404, body: {} },
      'co.com': { status: 422, body: { error: 'co.com is for sale <b>' } },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', ...BOTH];
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.code).toBe(0);
    const summary = summaryOf(ended);
    expect(summary.reports).toEqual(['run.html', 'run.json']);
    expect(ended.stderr).toContain('\n  report    run.html\n  report    run.json\n');
    const report = reportIn(folder);
    expect(report).toMatchObject({
      run: { input: 'list.csv', end: 'done', domainColumn: 'domain' },
      rows: { total: 4, statuses: summary.statuses, areWritten: true },
      domains: { unique: 3, fresh: 0, due: 3, lookedUp: 3 },
      lookups: { found: 1, not_found: 1, rejected: 1, failed: 0 },
      calls: { total: 3, measured: 3 },
      columns: [{ name: 'brand_name', rows: 1 }],
      files: { out: 'list.enriched.csv', failures: 'list.failures.csv', changes: null },
    });
    expect(report.calls.answers).toHaveLength(3);
    expect(report.latency?.maxMs).toBeGreaterThan(0);
    expect(report.slowest.map(({ domain }) => domain).sort()).toEqual([
      'acme.com',
      'bolt.com',
      'co.com',
    ]);
    const calls = report.timeline.spans.reduce((sum, span) => sum + span.callsPerSecond, 0);
    expect(calls).toBeGreaterThan(0);
    const rejected = report.reasons.find(({ status }) => status === 'rejected');
    expect(rejected).toMatchObject({ reason: expect.stringContaining('{domain} is for sale') });
    expect(rejected?.examples).toEqual([
      { row: 3, domain: 'co.com', cell: 'co.com', text: 'Co,co.com' },
    ]);
    const page = folder.read('run.html');
    expect(parse(page).childNodes).toHaveLength(2);
    expect(page).toContain('Done: 1 of 4 rows enriched.');
    expect(page).not.toContain('for sale <b>');
    expect(folder.names()).toEqual([
      'list.csv',
      'list.enriched.csv',
      'list.failures.csv',
      'run.html',
      'run.json',
    ]);
  });

  it('shows the cell that was read, even if another column has the same name', async () => {
    const folder = openList('website,name,website\n,Acme,acme.com\n,Bolt,bolt.com\n,Co,n/a\n');
    const api = await openScripted({ 'bolt.com': { status: 404, body: {} } });
    await enrichHere(folder, api.url, ...BOTH);
    const examples = reportIn(folder).reasons.flatMap(({ examples }) => examples);
    expect(examples.map(({ cell }) => cell).sort()).toEqual(['bolt.com', 'n/a']);
  });

  it('of a run that is all fresh says that no call was made', async () => {
    const folder = openList();
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...BOTH];
    await runHere(args, { cwd: folder.path });
    await runHere(args, { cwd: folder.path });
    expect(reportIn(folder)).toMatchObject({
      domains: { fresh: 2, lookedUp: 0 },
      calls: { total: 0, measured: 0 },
      latency: null,
      pace: null,
      mostRetried: [],
    });
    expect(folder.read('run.html')).toContain('No call was made');
  });

  it('knows what was tried again, and what that came to', async () => {
    const folder = openList();
    let calls = 0;
    const api = await openApi({
      respond: (domain) => {
        if (domain === 'acme.com' && calls++ < 2) return { status: 503 };
        return { body: { name: 'x' } };
      },
    });
    await enrichHere(folder, api.url, ...BOTH);
    const { mostRetried, calls: made } = reportIn(folder);
    expect(mostRetried).toEqual([
      { domain: 'acme.com', attempts: 3, status: 'found', reason: '', row: 1 },
    ]);
    expect(made).toMatchObject({ total: 4, retries: 2, measured: 4 });
    expect(made.answers).toEqual([
      { answer: '503', calls: 2 },
      { answer: '200', calls: 2 },
    ]);
  });

  it('is made when the run is interrupted', async () => {
    const folder = openList(300);
    const reached = createGate();
    const api = await openApi({
      latencyMs: 40,
      respond: () => {
        if (api.stats().calls === 20) reached.open();
        return undefined;
      },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '4', ...BOTH];
    const running = await start(args, { cwd: folder.path });
    await reached.opened;
    running.process.kill('SIGINT');
    const { code } = await running.ended;
    expect(code).toBe(130);
    const { run: ended, rows, reasons } = reportIn(folder);
    expect(ended).toMatchObject({ end: 'interrupted', exitCode: 130, stopReason: 'interrupted' });
    expect(ended.headline).toMatch(/^Interrupted: \d+ of 300 rows enriched; \d+ rows not asked\.$/);
    expect(rows.statuses.skipped).toBeGreaterThan(0);
    expect(reasons[0]).toMatchObject({ status: 'skipped', reason: 'interrupted' });
  });

  it('is made when the API ends the run, with what to do', async () => {
    const folder = openList();
    const api = await openApi({ respond: () => ({ status: 401 }) });
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...BOTH];
    expect((await runHere(args, { cwd: folder.path })).code).toBe(4);
    expect(reportIn(folder).run).toMatchObject({ end: 'stopped', stopReason: 'unauthorized' });
    expect(folder.read('run.html')).toContain('check --auth and BRANDFILL_API_KEY');
  });

  it('is made when the rows could not be written after calls were paid for', async () => {
    const folder = openList();
    const api = await openApi({
      respond: () => {
        appendFileSync(folder.at('list.csv'), 'Late,late.com\n');
        return { body: { name: 'x' } };
      },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...BOTH];
    const { code, stderr } = await runHere(args, { cwd: folder.path });
    expect(code).toBe(2);
    const { run: ended, rows, lookups } = reportIn(folder);
    expect(ended).toMatchObject({ end: 'error', exitCode: 2 });
    expect(stderr).toContain(ended.error);
    expect(rows.areWritten).toBe(false);
    expect(lookups.found).toBe(2);
    expect(folder.names()).toEqual(['list.csv', 'run.html', 'run.json']);
  });

  it('is not made when the run never began, and the one of the last run stays', async () => {
    const folder = openList('name\nAcme\n');
    folder.write('run.html', 'yesterday');
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...BOTH];
    expect((await runHere(args, { cwd: folder.path })).code).toBe(2);
    const dry = ['enrich', openList().at('list.csv'), '--base-url', api.url, '--dry-run', ...BOTH];
    expect((await runHere(dry, { cwd: folder.path })).code).toBe(0);
    expect(folder.read('run.html')).toBe('yesterday');
    expect(folder.names()).toEqual(['list.csv', 'run.html']);
  });

  it.each([
    [{ report: '-' }, "expected a file whose name ends in .html or .json, received '-'"],
    [{ report: ['run.html', 'run.pdf'] }, /received '.*run.pdf'/],
    [{ report: '.json' }, /received '.*\/.json'/],
    [{ report: 'no/run.html' }, /there is no folder .*\/no; make it first\.$/],
    [{ report: ['a.html', './a.html'] }, 'it is another report'],
    [{ input: 'list.jsonl', out: 'a.json', report: 'a.json' }, 'it is where the rows go'],
    [
      { input: 'list.jsonl', failures: 'a.json', report: 'link.json' },
      'it is where the failures go',
    ],
    [{ input: 'a.json', report: 'link.json' }, 'it is the input'],
  ])('%j is refused before any call', async (options, message) => {
    const folder = openList();
    for (const name of ['a.json', 'list.jsonl']) folder.write(name, '{"domain":"acme.com"}\n');
    symlinkSync('a.json', folder.at('link.json'));
    const api = await openScripted({});
    const at = (path: string): string => (path === '-' ? path : folder.at(path));
    const given = { input: 'list.csv', ...options };
    const paths = Object.entries(given).map(([key, path]) => [key, [path].flat().map(at)] as const);
    const refusal = enrich({
      baseUrl: api.url,
      store: folder.at('.brandfill'),
      ...Object.fromEntries(paths.map(([key, all]) => [key, key === 'report' ? all : all[0]])),
    } as EnrichOptions);
    await expect(refusal).rejects.toThrow(message);
    expect(api.stats().calls).toBe(0);
    expect(folder.names()).toEqual(['a.json', 'link.json', 'list.csv', 'list.jsonl']);
  });

  it('of a job file may have the date in its path, and its folder is made', async () => {
    const folder = openList();
    const api = await openScripted({});
    folder.write(
      'job.yaml',
      `input: list.csv\nbaseUrl: ${api.url}\nreport:\n  - reports/{date}/run.html\n  - reports/run.json\n`,
    );
    expect((await runHere(['run', 'job.yaml'], { cwd: folder.path })).code).toBe(0);
    const days = readdirSync(folder.at('reports')).sort();
    expect(days).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/), 'run.json']);
    expect(readdirSync(folder.at(`reports/${days[0]}`))).toEqual(['run.html']);
  });
});

describe('the credential', () => {
  it('is nowhere in what a run writes, though the API gives it back in every way', async () => {
    const key = 'sk-live-7f9d"secret/key+1';
    const folder = openList('name,domain\nAcme,acme.com\nBolt,bolt.com\nCo,co.com\nDo,do.com\n');
    const api = await openApi({
      respond: (domain) => {
        if (domain === 'acme.com') return { status: 422, body: { error: `no: ${key}` } };
        if (domain === 'bolt.com') return { status: 403, body: `key=${encodeURIComponent(key)}` };
        if (domain === 'co.com') return { status: 400, body: Buffer.from(key).toString('base64') };
        return { status: 500, body: { error: key } };
      },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--auth', 'query:api_key'];
    const flags = ['--retries', '1', '--json', '--param', 'team=crm', '--changes', 'changes.csv'];
    const ended = await runHere([...args, ...flags, ...BOTH], {
      cwd: folder.path,
      env: { BRANDFILL_API_KEY: key },
    });
    expect(ended.code).toBe(3);
    const written = allIn(folder.path) + ended.stdout + ended.stderr;
    expect(written).toContain('[redacted]');
    for (const form of [
      key,
      'sk-live',
      'secret/key',
      encodeURIComponent(key),
      Buffer.from(key).toString('base64'),
    ]) {
      expect(written).not.toContain(form);
    }
    const { settings } = reportIn(folder);
    expect(settings).toContainEqual({ name: '--auth', value: 'query:api_key', isDefault: false });
    expect(settings).toContainEqual({
      name: '--param',
      value: 'team (values not shown)',
      isDefault: false,
    });
  });
});
