import { appendFileSync } from 'node:fs';
import { parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/watch/run-view.ts';
import { openApi, openScripted } from './support/api.ts';
import { enrichHere, runHere, summaryOf } from './support/command.ts';
import { type Folder, openList } from './support/folder.ts';

const BOTH = ['--report', 'run.html', '--report', 'run.json'];

/** The report in a file. */
function reportIn(folder: Folder): RunView {
  return JSON.parse(folder.read('run.json')) as RunView;
}

/** The view that a page holds. */
function dataIn(page: string): unknown {
  const [, data = ''] =
    /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page) ?? [];
  return JSON.parse(data);
}

describe('--report', () => {
  it('writes a page with its data inside, which say what the summary says', async () => {
    const folder = openList('name,domain\nAcme,acme.com\nBolt,bolt.com\nCo,co.com\nNone,n/a\n');
    const api = await openScripted({
      'bolt.com': { status: 404, body: {} },
      'co.com': { status: 422, body: { error: 'co.com is for sale </script><b>' } },
    });
    const ended = await enrichHere(folder, api.url, '--json', ...BOTH);
    expect(ended.code).toBe(0);
    const summary = summaryOf(ended);
    expect(summary.reports).toEqual(['run.html', 'run.json']);
    const report = reportIn(folder);
    expect(report).toMatchObject({
      list: 'list.csv',
      api: api.url,
      command: expect.stringMatching(/^brandfill enrich list\.csv --base-url /),
      end: 'done',
      exitCode: 0,
      rows: 4,
      statuses: summary.statuses,
      uniqueDomains: 3,
      due: 3,
      lookups: 3,
      calls: 4, // a domain that is refused is asked again, to see whom that is about
      outcomes: { found: 1, not_found: 1, rejected: 1, failed: 0 },
      columns: [{ name: 'brand_name', rows: 1 }],
      out: 'list.enriched.csv',
      failures: 'list.failures.csv',
    });
    expect(Object.keys(report.answers)).toHaveLength(3);
    expect(report.latency?.p95Ms).toBeGreaterThan(0);
    expect(
      report.spans.reduce((sum, { callsPerSecond }) => sum + callsPerSecond, 0),
    ).toBeGreaterThan(0);
    const rejected = report.reasons.find(({ status }) => status === 'rejected');
    expect(rejected).toMatchObject({
      said: expect.stringContaining('{domain} is for sale'),
      examples: [{ domain: 'co.com', cell: 'co.com' }],
    });
    const page = folder.read('run.html');
    expect(parse(page).childNodes).toHaveLength(2);
    expect(dataIn(page)).toEqual(JSON.parse(folder.read('run.json')));
    expect(page).not.toMatch(/(?:src|href)="?(?:https?:|\/)/);
  });

  it('is made when the rows could not be written after calls were paid for', async () => {
    const folder = openList();
    const api = await openApi({
      respond: () => {
        appendFileSync(folder.at('list.csv'), 'Late,late.com\n');
        return { body: { name: 'x' } };
      },
    });
    const { code, stderr } = await enrichHere(folder, api.url, ...BOTH);
    expect(code).toBe(2);
    const report = reportIn(folder);
    expect(report).toMatchObject({ end: 'error', exitCode: 2, outcomes: { found: 2 } });
    expect(stderr).toContain(report.why);
    expect(folder.names()).toEqual(['list.csv', 'run.html', 'run.json']);
  });

  it('is not made when the run never began, and the one of the last run stays', async () => {
    const folder = openList('name\nAcme\n');
    folder.write('run.html', 'yesterday');
    const api = await openScripted({});
    expect((await enrichHere(folder, api.url, ...BOTH)).code).toBe(2);
    const dry = ['enrich', openList().at('list.csv'), '--base-url', api.url, '--dry-run', ...BOTH];
    expect((await runHere(dry, { cwd: folder.path })).code).toBe(0);
    expect(folder.read('run.html')).toBe('yesterday');
    expect(folder.names()).toEqual(['list.csv', 'run.html']);
  });
});
