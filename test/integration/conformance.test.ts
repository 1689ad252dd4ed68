import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { BrandfillError, enrich } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { openFolder } from './support/folder.ts';
import { findMaterial } from './support/material.ts';

const SPECTRUM = findMaterial('csv-spectrum');
const EXAMPLES = findMaterial('csvkit-examples');
const COMPANIES = findMaterial('fortune500');

/** How a file is written, where it is not UTF-8 with commas: told by whoever looked at it. */
interface Written {
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly record_delimiter?: string;
  readonly relax_quotes?: boolean;
}

const WRITTEN: Readonly<Record<string, Written>> = {
  'mac_newlines.csv': { record_delimiter: '\r' },
  'dummy.tsv': { delimiter: '\t' },
  'test_utf16_big.csv': { encoding: 'utf-16be' },
  'test_utf16_little.csv': { encoding: 'utf-16le' },
  'fortune500.csv': { encoding: 'utf-16le' },
  'test_latin1.csv': { encoding: 'latin1' },
  'location_coordinates.csv': { relax_quotes: true },
};

/** What cannot be enriched, and what is said about it. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'csvkit-examples/dummy.csv.bz2': /otherwise than with gzip/,
  'csvkit-examples/empty.csv': /empty; expected a header/,
};

/** All cells of a file, rows with nothing in them left out, as csv-parse reads it when it is told how. */
function read(bytes: Buffer, { encoding = 'utf-8', ...options }: Written): string[][] {
  const rows: string[][] = parse(new TextDecoder(encoding).decode(bytes), {
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    ...options,
  });
  return rows.filter((row) => row.length > 1 || row[0] !== '');
}

describe.skipIf(!SPECTRUM || !EXAMPLES || !COMPANIES)('files of other projects', () => {
  const files = [SPECTRUM, EXAMPLES, COMPANIES].flatMap((folder) =>
    folder === undefined
      ? []
      : readdirSync(folder, { recursive: true, encoding: 'utf8' })
          .filter((name) => /\.(csv|tsv|gz|bz2)$/.test(name))
          .map((name) => join(folder, name)),
  );

  it.each(files.map((path) => [basename(path), path]))(
    '%s: written back, it means the same cell by cell',
    async (name, path) => {
      const folder = openFolder();
      const bytes = readFileSync(path);
      folder.write(name, bytes);
      const api = await openApi();
      const running = enrich({
        input: folder.at(name),
        baseUrl: api.url,
        store: folder.at('store'),
        out: folder.at('out.csv'),
        domainColumn: '1',
      });
      const refused = REFUSED[join(basename(dirname(path)), name)];
      if (refused) {
        const error: unknown = await running.catch((error: unknown) => error);
        expect(error).toBeInstanceOf(BrandfillError);
        expect(String(error)).toMatch(refused);
        expect(folder.names()).not.toContain('out.csv');
        return;
      }
      const summary = await running;
      const written = WRITTEN[name] ?? {};
      const own = read(name.endsWith('.gz') ? gunzipSync(bytes) : bytes, written);
      expect(own.length).toBeGreaterThan(0);
      const [header = [], ...rows] = own;
      // Rows of nothing but delimiters stay where they are, and are none.
      const isRow = (row: readonly string[]): boolean =>
        header.length === 1 || row.some((cell) => cell.trim() !== '');
      expect(summary.rows).toBe(rows.filter(isRow).length);
      const width = Math.max(...own.map((row) => row.length));
      const out = read(readFileSync(folder.at('out.csv')), { ...written, encoding: 'utf-8' });
      expect(out.map((row) => row.slice(0, width))).toEqual(
        own.map((row) => Array.from({ length: width }, (_, at) => row[at] ?? '')),
      );
      expect(out[0]?.slice(width, width + 2)).toEqual(['brand_domain', 'brand_status']);
    },
  );
});
