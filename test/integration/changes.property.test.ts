import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { enrich } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openFolder } from './support/folder.ts';
import { objectsOf, rowsOf } from './support/tables.ts';

const SEED = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
console.log(`changes.property.test.ts: seed ${SEED} (BRANDFILL_TEST_SEED sets it)`);

const DOMAINS = ['a.com', 'b.com', 'c.com', 'd.com', 'e.com'];
const REPLIES: readonly SandboxReply[] = [
  { body: { name: 'One', city: 'Oslo' } },
  { body: { name: 'One', city: 'Rome' } },
  { body: { name: 'Two', zip: 7 } },
  { body: { tags: ['x', 'y'], zip: '7' } },
  { body: {} },
  { status: 404 },
  { status: 422 },
  { status: 500 },
];

/** What the API says to each domain, and the list of one night, as places in the above. */
const night = fc.record({
  replies: fc.array(fc.nat(REPLIES.length - 1), { minLength: 5, maxLength: 5 }),
  rows: fc.array(
    fc.record({
      id: fc.nat(6),
      domain: fc.nat(DOMAINS.length),
      note: fc.constantFrom('', 'x', 'y'),
    }),
    { maxLength: 9 },
  ),
  isRefresh: fc.boolean(),
  maxCalls: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 4 }),
});
const nights = fc.record({
  format: fc.constantFrom('csv' as const, 'jsonl' as const),
  hasKey: fc.boolean(),
  nights: fc.array(night, { minLength: 2, maxLength: 5 }),
});
type Night = typeof night extends fc.Arbitrary<infer T> ? T : never;

type Row = Record<string, unknown>;
/** What somebody who only got the changes knows of each row. */
type Known = Map<string, Row>;

describe('changes files, night after night', () => {
  it('tell what the outputs say of each row, and nothing that was told already', async () => {
    await fc.assert(
      fc.asyncProperty(nights, async ({ format, hasKey, nights }) => {
        const folder = openFolder();
        let replies: readonly number[] = [];
        const api = await startSandbox({
          respond: (domain) => REPLIES[replies[DOMAINS.indexOf(domain)] ?? 0],
        });
        const idOf = (row: Row): string => String(row[hasKey ? 'id' : 'brand_domain']);
        const parse = format === 'csv' ? rowsOf : objectsOf;
        const read = (name: string): Row[] => {
          const text = folder.read(`list.${name}.${format}`);
          return text === '' ? [] : parse(text);
        };
        const told: Known = new Map();
        try {
          for (const [at, { rows, isRefresh, maxCalls, ...night }] of nights.entries()) {
            replies = night.replies;
            folder.write(`list.${format}`, write({ rows, hasKey, format }));
            await enrich({
              input: folder.at(`list.${format}`),
              changes: folder.at(`list.changes.${format}`),
              store: folder.at('store'),
              baseUrl: api.url,
              domainColumn: 'domain',
              retries: 0,
              maxFailed: '100%',
              maxOutage: 0,
              refresh: isRefresh,
              ...(maxCalls === undefined ? {} : { maxCalls }),
              ...(hasKey ? { key: 'id' } : {}),
            });
            const out = read('enriched');
            const changes = read('changes');
            replay(changes, out, idOf, told);
            for (const row of out.filter(isAnswered)) {
              expect(told.get(idOf(row)), `night ${at}`).toEqual(valuesOf(row));
            }
          }
        } finally {
          await api.close();
        }
      }),
      { seed: SEED, numRuns: 8, endOnFailure: false },
    );
  });
});

function write({
  rows,
  hasKey,
  format,
}: Pick<Night, 'rows'> & { hasKey: boolean; format: 'csv' | 'jsonl' }): string {
  const ids = new Set<number>();
  const list = rows
    // A key is there once.
    .filter(({ id }) => !hasKey || !(ids.has(id) || !ids.add(id)))
    .map(({ id, domain, note }) => ({ id, domain: DOMAINS[domain] ?? '', note }));
  if (format === 'csv') {
    return `id,domain,note\n${list.map((row) => `${Object.values(row).join(',')}\n`).join('')}`;
  }
  return (list.length > 0 ? list : [{ id: 99, domain: '', note: '' }])
    .map((row) => `${JSON.stringify(row)}\n`)
    .join('');
}

function isAnswered(row: Row): boolean {
  return ['found', 'not_found', 'rejected'].includes(String(row['brand_status']));
}

/** Our columns, as far as there is something in them. */
function valuesOf(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).filter(
      ([name, value]) =>
        name.startsWith('brand_') && !/_(changed?|fetched_at)$/.test(name) && value !== '',
    ),
  );
}

/** Does what the reader of a changes file has to do. */
function replay(
  changes: readonly Row[],
  out: readonly Row[],
  idOf: (row: Row) => string,
  told: Known,
): void {
  const before = new Map(told);
  const there = new Set(out.map(idOf));
  for (const id of told.keys()) if (!there.has(id)) told.delete(id);
  for (const row of changes) {
    const id = idOf(row);
    const values = told.get(id) ?? {};
    const names = String(row['brand_changed']).split(';');
    const next = row['brand_change'] === 'new' ? {} : { ...values };
    for (const name of names) delete next[name];
    for (const [name, value] of Object.entries(valuesOf(row))) {
      if (row['brand_change'] === 'new' || names.includes(name)) next[name] = value;
    }
    if (row['brand_change'] === 'changed') expect(next, 'told twice').not.toEqual(before.get(id));
    told.set(id, next);
  }
}
