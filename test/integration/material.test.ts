import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { findMaterial } from './support/material.ts';
import { runHere } from './support/program.ts';
import { cellsOf, column, rowsOf } from './support/tables.ts';

const TEN_THOUSAND = findMaterial('opendns-public-domain-lists', 'opendns-random-domains.txt');
const COMPANIES = findMaterial('fortune500', 'fortune500_policy_urls.csv');

describe.skipIf(!TEN_THOUSAND)('ten thousand real domains', () => {
  it('come out in their order, each asked for once, and cost nothing the second time', async () => {
    const folder = openFolder();
    const text = readFileSync(TEN_THOUSAND ?? '', 'utf8');
    const names = text.trimEnd().split(/\r?\n/);
    folder.write('list.csv', `domain\n${text}`);
    const api = await openApi({ notFound: 0.1 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '64'];
    const first = await runHere(args, { cwd: folder.path });
    expect(first.code).toBe(0);
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'domain')).toEqual(names);
    const { statuses, rows: count, uniqueDomains, calls } = summaryOf(first);
    expect(count).toBe(10_000);
    expect(statuses.invalid).toBeLessThan(100);
    expect(statuses.found + statuses.not_found + statuses.rejected + statuses.invalid).toBe(10_000);
    expect(calls).toBe(uniqueDomains);
    expect(api.stats().domains.mostCalls).toBe(1);
    expect(rowsOf(folder.read('list.failures.csv'))).toHaveLength(10_000 - statuses.found);

    const output = folder.read('list.enriched.csv');
    const second = await runHere(args, { cwd: folder.path });
    expect(summaryOf(second)).toMatchObject({ calls: 0, freshDomains: uniqueDomains, statuses });
    expect(folder.read('list.enriched.csv')).toBe(output);
  });

  it('without a header are refused, not enriched from the second on', async () => {
    const folder = openFolder();
    folder.write('list.txt', readFileSync(TEN_THOUSAND ?? ''));
    const ended = await runHere(['enrich', 'list.txt', '--base-url', 'http://127.0.0.1:9'], {
      cwd: folder.path,
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/no header/);
  });
});

describe.skipIf(!COMPANIES)('a real list of companies', () => {
  it('has its websites found, and every row kept to the byte', async () => {
    const folder = openFolder();
    const text = readFileSync(COMPANIES ?? '', 'utf8');
    folder.write('list.csv', text);
    const api = await openApi();
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url, '--json'], {
      cwd: folder.path,
    });
    expect(ended.stderr).toContain("domains are in column 'website'");
    const { rows, statuses, uniqueDomains } = summaryOf(ended);
    expect(rows).toBe(cellsOf(text).length - 1);
    expect(statuses.found).toBeGreaterThan(rows * 0.95);
    expect(api.stats()).toMatchObject({ calls: uniqueDomains, domains: { mostCalls: 1 } });
    const own = rawRows(text);
    const out = rawRows(folder.read('list.enriched.csv'));
    expect(out).toHaveLength(own.length);
    expect(out.filter((row, at) => !row.startsWith(`${own[at]},`))).toEqual([]);
  });
});

/** Each row as it stands in a file, line end left out. */
function rawRows(csv: string): string[] {
  const records = parse(csv, { raw: true, relax_column_count: true }) as unknown as {
    readonly raw: string;
  }[];
  return records.map(({ raw }) => raw.replace(/\r?\n$/, ''));
}
