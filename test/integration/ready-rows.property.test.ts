import { cpSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { enrich } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openTables } from '../../src/store/tables.ts';
import { openApi } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';

const SEED = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
console.log(`ready-rows.property.test.ts: seed ${SEED} (BRANDFILL_TEST_SEED sets it)`);

const DOMAINS = ['a.com', 'b.com', 'c.com', 'd.com', 'e.com', 'f.com'];
const REPLIES: readonly SandboxReply[] = [
  { body: { name: 'One', city: 'Oslo' } },
  { body: { name: '=1;2', city: '"Rome", I', size: 5 } },
  { body: { name: 'Two\nlines', tags: ['x', 'y'] } },
  { body: {} },
  { status: 404 },
  { status: 422 },
  { status: 500 },
];
/** Cells without a domain, rows of nothing, and one that is wider than its header. */
const ODD = ['', 'n/a', 'http://localhost', 'blank line', 'blank row', 'wide row', 'short row'];

const reply = fc.nat(REPLIES.length - 1);
const row = fc.record({
  cell: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...DOMAINS) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  ),
  note: fc.constantFrom('', 'x', 'a "note"', 'ü, and more'),
});
const night = fc.record({
  replies: fc.array(reply, { minLength: DOMAINS.length, maxLength: DOMAINS.length }),
  rows: fc.array(row, { maxLength: 12 }),
  maxCalls: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 3 }),
});
const cases = fc.record({
  format: fc.constantFrom('csv' as const, 'jsonl' as const),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  delimiter: fc.constantFrom(',', ';', '\t'),
  endsInLineEnd: fc.boolean(),
  fields: fc.constantFrom(undefined, 'name=name,size=size'),
  maxColumns: fc.constantFrom(50, 2),
  changes: fc.constantFrom('none' as const, 'by domain' as const, 'by key' as const),
  fills: fc.boolean(),
  reports: fc.boolean(),
  nights: fc.array(night, { minLength: 2, maxLength: 4 }),
});
type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never;

describe('rows that are written while the list is read', () => {
  it('are the rows that are written when all lookups are over, to the byte', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ nights, ...how }) => {
        const folder = openFolder();
        let replies: readonly number[] = [];
        const api = await startSandbox({
          respond: (domain) => REPLIES[replies[DOMAINS.indexOf(domain)] ?? 0],
        });
        const { format, fields, maxColumns, changes, fills, reports } = how;
        const run = async (store: string, at: number, more = {}, packed = '') => {
          const { statuses, filled } = await enrich({
            input: folder.at(`list.${format}`),
            out: folder.at(`out.${format}${packed}`),
            failures: folder.at(`failures.${format}`),
            store: folder.at(store),
            baseUrl: api.url,
            domainColumn: 'domain',
            retries: 0,
            maxFailed: '100%',
            maxOutage: 0,
            ...(fields === undefined ? { maxColumns } : { fields }),
            ...(changes === 'none' ? {} : { changes: folder.at(`changes.${format}`) }),
            ...(changes === 'by key' ? { key: 'id' } : {}),
            ...(fills ? { fill: ['note=city'] } : {}),
            ...(reports ? { report: folder.at('report.json') } : {}),
            ...more,
          });
          const read = (name: string): string =>
            folder
              .read(`${name}.${format}`)
              .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, `night ${at}`);
          const told = changes === 'none' ? '' : read('changes');
          if (packed !== '')
            folder.write(`out.${format}`, gunzipSync(readFileSync(folder.at(`out.${format}.gz`))));
          const { columns } = reports ? JSON.parse(folder.read('report.json')) : { columns: [] };
          return { statuses, filled, columns, out: read('out'), failures: read('failures'), told };
        };
        try {
          for (const [at, { rows, maxCalls, ...night }] of nights.entries()) {
            replies = night.replies;
            folder.write(`list.${format}`, write(rows, how));
            if (at > 0) cpSync(folder.at('store'), folder.at(`store-${at}`), { recursive: true });
            const budget = maxCalls === undefined ? {} : { maxCalls };
            const made = await run('store', at, budget);
            if (at === 0) continue;
            // What is packed cannot be taken back, so nothing is written early.
            const expected = await run(`store-${at}`, at, budget, '.gz');
            expect(made).toEqual(expected);
          }
        } finally {
          await api.close();
        }
      }),
      { seed: SEED, numRuns: 6, endOnFailure: false },
    );
  });
});

type Row = Case['nights'][number]['rows'][number];

function write(rows: readonly Row[], how: Omit<Case, 'nights'>): string {
  const { format, lineEnd, endsInLineEnd } = how;
  const line = format === 'csv' ? csvLineOf : jsonLineOf;
  const first: Row = { cell: 'a.com', note: '' };
  const header = format === 'csv' ? [['id', 'domain', 'note'].join(how.delimiter)] : [];
  const lines = [...header, ...[first, ...rows].map((row, at) => line(row, at, how))];
  return lines.join(lineEnd) + (endsInLineEnd ? lineEnd : '');
}

function csvLineOf(
  { cell, note }: Row,
  at: number,
  { delimiter }: Pick<Case, 'delimiter'>,
): string {
  if (cell === 'blank line') return '';
  if (cell === 'blank row') return delimiter.repeat(2);
  if (cell === 'short row') return `${at}${delimiter}a.com`;
  const cells = [String(at), cell === 'wide row' ? 'b.com' : cell, note];
  if (cell === 'wide row') cells.push('');
  return cells
    .map((text) => (/[",;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join(delimiter);
}

function jsonLineOf({ cell, note }: Row, at: number): string {
  if (cell === 'blank line') return '';
  if (cell === 'short row') return `{"id":${at},"domain":"a.com"}`;
  // Our own name, which takes another one then.
  const more = cell === 'wide row' ? { brand_status: 'mine' } : {};
  return ` ${JSON.stringify({ id: at, domain: cell === 'wide row' ? 'b.com' : cell, note, ...more })} `;
}

const ROWS = 2_000;
/** So many are made anew in each night. */
const UNKEPT = 1_000;

describe('a long list, night after night', () => {
  it('has the same rows from cells that are kept as from answers, and new ones in between', async () => {
    const folder = openFolder();
    const { url } = await openApi();
    const rows = Array.from({ length: ROWS }, (_, at) => `${at},maker-${at}.com,"a, b"\n`);
    const write = (more: (at: number) => string): void => {
      folder.write('list.csv', `id,domain,note\n${rows.map((row, at) => more(at) + row).join('')}`);
    };
    const night = async () => {
      const options = { out: 'out.csv', failures: 'failures.csv', baseUrl: url };
      const { summary } = await enrichIn(folder, { input: 'list.csv', ...options });
      const { lookups, statuses } = summary;
      return { lookups, statuses, lines: folder.read('out.csv').split(/\n(?=\d|new)/) };
    };
    write(() => '');
    const first = await night();
    expect(await night()).toEqual({ ...first, lookups: 0 });
    const tables = await openTables(folder.at('.brandfill'));
    expect(tables.ready.getKeysCount()).toBe(ROWS - UNKEPT);
    await tables.close();
    expect(await night()).toEqual({ ...first, lookups: 0 });

    write((at) => (at % 40 === 39 ? `new,brand-${at}.com,\n` : at === 7 ? 'new,n/a,\n' : ''));
    const mixed = await night();
    expect(mixed.lookups).toBe(ROWS / 40);
    expect(mixed.lines.filter((line) => !line.startsWith('new'))).toEqual(first.lines);
    expect(mixed.lines.findIndex((line) => line.startsWith('new,n/a'))).toBe(8);
  });
});
