import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { BrandfillError, enrich } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { findMaterial } from './support/material.ts';
import { cellsOf, column, rowsOf } from './support/tables.ts';

const TEN_THOUSAND = findMaterial('opendns-public-domain-lists', 'opendns-random-domains.txt');
const COMPANIES = findMaterial('fortune500', 'fortune500_policy_urls.csv');
const UTF16_COMPANIES = findMaterial('fortune500', 'fortune500.csv');
const SPECTRUM = findMaterial('csv-spectrum');
const EXAMPLES = findMaterial('csvkit-examples');

describe.skipIf(!TEN_THOUSAND)('ten thousand real domains', () => {
  it('come out in their order, each asked for once, and cost nothing the second time', async () => {
    const folder = openFolder();
    const text = readFileSync(TEN_THOUSAND ?? '', 'utf8');
    const names = text.trimEnd().split(/\r?\n/);
    folder.write('list.csv', `domain\n${text}`);
    const api = await openApi({ notFound: 0.1 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '64'];
    const first = await run(args, { cwd: folder.path });
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
    const second = await run(args, { cwd: folder.path });
    expect(summaryOf(second)).toMatchObject({ calls: 0, freshDomains: uniqueDomains, statuses });
    expect(folder.read('list.enriched.csv')).toBe(output);
  });

  it('without a header are refused, not enriched from the second on', async () => {
    const folder = openFolder();
    folder.write('list.txt', readFileSync(TEN_THOUSAND ?? ''));
    const ended = await run(['enrich', 'list.txt', '--base-url', 'http://127.0.0.1:9'], {
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
    const ended = await run(['enrich', 'list.csv', '--base-url', api.url, '--json'], {
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

describe.skipIf(!UTF16_COMPANIES)('a real list in UTF-16', () => {
  it('is refused by its name', async () => {
    const folder = openFolder();
    folder.write('list.csv', readFileSync(UTF16_COMPANIES ?? ''));
    await expect(
      enrich({
        input: folder.at('list.csv'),
        baseUrl: 'http://127.0.0.1:9',
        store: folder.at('s'),
      }),
    ).rejects.toThrow(/UTF-16 \(little-endian\)/);
  });
});

describe.skipIf(!SPECTRUM)('csv-spectrum', () => {
  const names = SPECTRUM
    ? readdirSync(join(SPECTRUM, 'csvs')).map((name) => basename(name, '.csv'))
    : [];
  /** Has quotes in the middle of cells, and an object of another list as its answer. */
  const ODD = 'location_coordinates';

  it(`${ODD}: is refused with the line of its first open quote`, async () => {
    const folder = openFolder();
    folder.write('list.csv', readFileSync(join(SPECTRUM ?? '', 'csvs', `${ODD}.csv`)));
    const ended = await run(
      ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9', '--domain-column', 'Cities'],
      { cwd: folder.path },
    );
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/line 2 of list\.csv: a quote stands in the middle of a cell/);
  });

  it.each(names.filter((name) => name !== ODD))(
    '%s: the own columns of the output are the cells that it should have',
    async (name) => {
      const folder = openFolder();
      folder.write('list.csv', readFileSync(join(SPECTRUM ?? '', 'csvs', `${name}.csv`)));
      const expected = JSON.parse(
        readFileSync(join(SPECTRUM ?? '', 'json', `${name}.json`), 'utf8'),
      ) as Record<string, string>[];
      const columns = Object.keys(expected[0] ?? {});
      const api = await openApi();
      const summary = await enrich({
        input: folder.at('list.csv'),
        baseUrl: api.url,
        store: folder.at('store'),
        domainColumn: columns.find((name) => name !== '') ?? '',
      });
      const rows = rowsOf(folder.read('list.enriched.csv'));
      expect(
        rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]]))),
      ).toEqual(expected);
      expect(summary.rows).toBe(expected.length);
    },
  );
});

describe.skipIf(!EXAMPLES)('csvkit-examples', () => {
  /** What cannot be enriched, and what is said about it. */
  const REFUSED: Readonly<Record<string, RegExp>> = {
    'dummy.csv.bz2': /bzip2/,
    'empty.csv': /empty/,
    'test_latin1.csv': /line 3 .*UTF-8/,
    'test_utf16_big.csv': /UTF-16 \(big-endian\)/,
    'test_utf16_little.csv': /UTF-16 \(little-endian\)/,
  };
  const found = EXAMPLES
    ? readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }).filter((name) =>
        /\.(csv|tsv|gz|bz2)$/.test(name),
      )
    : [];

  it.each(found)('%s is kept to the cell, or refused in one sentence', async (name) => {
    const folder = openFolder();
    const bytes = readFileSync(join(EXAMPLES ?? '', name));
    const copy = basename(name);
    folder.write(copy, bytes);
    const api = await openApi();
    const plain = copy.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    const refused = REFUSED[copy];
    const options = {
      input: folder.at(copy),
      baseUrl: api.url,
      store: folder.at('store'),
      out: folder.at('out.csv'),
    };
    const [first = []] = refused ? [] : read(plain);
    const running = enrich({ ...options, domainColumn: first[0] ?? 'a' });
    if (refused) {
      const error: unknown = await running.catch((error: unknown) => error);
      expect(error).toBeInstanceOf(BrandfillError);
      expect(String(error)).toMatch(refused);
      expect(folder.names()).not.toContain('out.csv');
      return;
    }
    const summary = await running;
    const own = read(plain);
    const width = Math.max(...own.map((row) => row.length));
    const out = read(readFileSync(folder.at('out.csv')));
    expect(out.map((row) => row.slice(0, width))).toEqual(
      own.map((row) => [...row, ...Array<string>(width - row.length).fill('')]),
    );
    expect(out[0]?.slice(width, width + 2)).toEqual(['brand_domain', 'brand_status']);
    expect(summary.rows).toBe(own.length - 1);
  });

  /** Rows with more than nothing in them. */
  function read(bytes: Buffer): string[][] {
    const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
    const isOldMac = !text.includes('\n');
    const first = text.replace(/^\s+/, '');
    const rows: string[][] = parse(text, {
      delimiter: /^[^,]*\t/.test(first) && !first.startsWith('"') ? '\t' : ',',
      record_delimiter: isOldMac ? '\r' : ['\r\n', '\n'],
      relax_column_count: true,
    });
    return rows.filter((row) => row.length > 1 || row[0] !== '');
  }

  it('with objects of different members are enriched as they are', async () => {
    const folder = openFolder();
    folder.write('list.json', readFileSync(join(EXAMPLES ?? '', 'testjson_multiline.json')));
    const summary = await enrich({
      input: folder.at('list.json'),
      baseUrl: 'http://127.0.0.1:9',
      store: folder.at('store'),
      domainColumn: 'd',
    });
    expect(summary.statuses.invalid).toBe(summary.rows);
  });
});

/** Each row as it stands in a file, line end left out. */
function rawRows(csv: string): string[] {
  const records = parse(csv, { raw: true, relax_column_count: true }) as unknown as {
    readonly raw: string;
  }[];
  return records.map(({ raw }) => raw.replace(/\r?\n$/, ''));
}
