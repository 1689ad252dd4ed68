import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { enrich, enrichRows, type RunEvent } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { openFolder } from './support/folder.ts';

const SEED = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
console.log(`every-row.property.test.ts: seed ${SEED} (BRANDFILL_TEST_SEED sets it)`);

/** What the API says to `d0.com`, `d1.com`, … and what that makes of a row. */
const REPLIES: readonly (readonly [status: string, reply: SandboxReply])[] = [
  ['found', { body: { name: 'Acme', city: 'Oslo, "N"' } }],
  ['found', { body: { name: '=1+1', zip: '0150\n' } }],
  ['found', { body: { name: 'Acme' } }],
  ['not_found', { status: 404 }],
  ['rejected', { status: 400, body: 'bad,\n"domain"' }],
  ['failed', { status: 500 }],
  ['failed', 'reset'],
];
const RESET = `d${REPLIES.findIndex(([, reply]) => reply === 'reset')}.com`;
const STATUS_OF = new Map(REPLIES.map(([status], at) => [`d${at}.com`, status]));

const spelling = fc.constantFrom(
  (domain: string) => domain,
  (domain: string) => domain.toUpperCase(),
  (domain: string) => `https://www.${domain}/a?b=1`,
  (domain: string) => ` ${domain}. `,
  (domain: string) => `me@${domain}`,
);
const domainCell = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...STATUS_OF.keys()), spelling) },
  { weight: 1, arbitrary: fc.constantFrom('', 'n/a', '10.0.0.1', 'co.uk', 'two words') },
);
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom(...'" "" \' , ; | =1 🏷️'.split(' ')),
  fc.constantFrom('\n', '\r\n', 'a\r', '\t', ' x ', '\u0000', '\uFEFF'),
);
const row = fc.record({
  domain: domainCell,
  note: text,
  /** Cells beyond the header's. */
  extra: fc.array(text, { maxLength: 2 }),
  /** Ends after its domain. */
  isShort: fc.boolean(),
  /** Has nothing but delimiters. */
  isBlank: fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 9),
  isQuoted: fc.boolean(),
});
/** More even rows than odd ones show how a list is written. */
const EVEN: typeof row extends fc.Arbitrary<infer T> ? T : never = {
  domain: ['d0.com', (domain) => domain],
  note: 'x',
  extra: ['y'],
  isShort: false,
  isBlank: false,
  isQuoted: false,
};
const list = fc.record({
  rows: fc.array(row, { maxLength: 12 }).map((rows) =>
    [EVEN, EVEN].concat(
      rows.map(() => EVEN),
      rows,
      [EVEN], // as notes below a list are none of it
    ),
  ),
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  byteOrderMark: fc.boolean(),
  endsInLineEnd: fc.boolean(),
});
type List = typeof list extends fc.Arbitrary<infer T> ? T : never;

/** When the run is interrupted: at an event, at the nth call, or not at all. */
const interruption = fc.oneof(
  fc.constant('never' as const),
  fc.constantFrom('opened' as const, 'planned' as const, 'writing' as const),
  fc.integer({ min: 1, max: 6 }),
);

describe('any list, whatever the API says and whenever it is interrupted', () => {
  it('gives each row once, in order, its own cells unchanged, with the right status', async () => {
    await fc.assert(
      fc.asyncProperty(list, interruption, async (list, interruption) => {
        const written = write(list);
        const folder = openFolder();
        const input = folder.write('list.csv', written.text);
        const interrupter = new AbortController();
        let calls = 0;
        const api = await startSandbox({
          respond: (domain) => {
            calls += 1;
            if (calls === interruption) interrupter.abort();
            return REPLIES[Number(domain.slice(1, -4))]?.[1];
          },
        });
        const place = { input, baseUrl: api.url, store: folder.at('store') };
        const options = { ...place, retries: 0, concurrency: 2, domainColumn: 'domain' };
        try {
          const onEvent = ({ type }: RunEvent): void => {
            if (type === interruption) interrupter.abort();
          };
          const { signal } = interrupter;
          const summary = await enrich({ ...options, signal, onEvent }).catch((error: unknown) => {
            // Before the plan is made there is nothing to write.
            if (!interrupter.signal.aborted || calls > 0) throw error;
            return undefined;
          });
          if (summary === undefined)
            expect(['list.csv', 'store']).toEqual(expect.arrayContaining(folder.names()));
          else checkOutputs(list, written, folder.read, { canSkip: interruption !== 'never' });
          const callsBefore = calls;

          const last = await enrich(options);
          checkOutputs(list, written, folder.read, { canSkip: false });
          expect(last.stopped).toBeUndefined();
          checkCalls(api, callsBefore);
        } finally {
          await api.close();
        }
      }),
      { seed: SEED, numRuns: 12, endOnFailure: false },
    );
  });

  it('does so for objects, which come back as they were, with more members', async () => {
    const list = fc.array(fc.integer(), { maxLength: 2 });
    const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), list);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ site: domainCell, id: value, brand_status: value }), {
          minLength: 1,
          maxLength: 12,
        }),
        async (given) => {
          const folder = openFolder();
          const api = await startSandbox({
            respond: (domain) => REPLIES[Number(domain.slice(1, -4))]?.[1],
          });
          try {
            const input = given.map((row) => ({ ...row, site: cellOf(row.site) }));
            const rows: Record<string, unknown>[] = [];
            const options = { input, baseUrl: api.url, retries: 0, domainColumn: 'site' };
            for await (const row of enrichRows({ ...options, store: folder.at('store') })) {
              rows.push(row);
            }
            expect(rows).toHaveLength(input.length);
            for (const [at, row] of rows.entries()) {
              expect(row).toMatchObject(JSON.parse(JSON.stringify(input[at])) as object);
              expect(row['brand_status_2']).toBe(statusOf(given[at]?.site));
            }
          } finally {
            await api.close();
          }
        },
      ),
      { seed: SEED, numRuns: 6 },
    );
  });
});

type DomainCell = typeof domainCell extends fc.Arbitrary<infer T> ? T : never;

function cellOf(cell: DomainCell): string {
  return typeof cell === 'string' ? cell : cell[1](cell[0]);
}

function statusOf(cell: DomainCell | undefined): string | undefined {
  return typeof cell === 'string' ? 'invalid' : STATUS_OF.get(cell?.[0] ?? '');
}

interface Written {
  readonly text: string;
  /** Each row as it stands in the file, without its line end. */
  readonly raw: readonly string[];
  readonly cells: readonly (readonly string[])[];
}

const HEADER = ['domain', 'note', 'note'];

function write({ rows, delimiter, lineEnd, byteOrderMark, endsInLineEnd }: List): Written {
  const cells = rows.map(({ domain, note, extra, isShort, isBlank }) => {
    if (isBlank) return ['', '', ...extra.map(() => ' ')];
    return isShort ? [cellOf(domain) || 'n/a'] : [cellOf(domain), note, ...extra].map(clean);
  });
  /** A file of lone carriage returns has no line feed at all, or it would not be one. */
  function clean(cell: string): string {
    return lineEnd === '\r' ? cell.replaceAll('\n', '') : cell;
  }
  const raw = cells.map((row, at) =>
    row
      .map((cell) =>
        rows[at]?.isQuoted || /["\r\n]/.test(cell) || cell.includes(delimiter)
          ? `"${cell.replaceAll('"', '""')}"`
          : cell,
      )
      .join(delimiter),
  );
  const end = endsInLineEnd ? lineEnd : '';
  const text = [HEADER.join(delimiter), ...raw].join(lineEnd) + (raw.length === 0 ? lineEnd : end);
  return { text: (byteOrderMark ? '\uFEFF' : '') + text, raw, cells };
}

function checkOutputs(
  list: List,
  { raw, cells }: Written,
  read: (name: string) => string,
  { canSkip }: { readonly canSkip: boolean },
): void {
  const { delimiter, lineEnd, byteOrderMark } = list;
  const isBlank = (row: readonly string[] = []): boolean => row.every((cell) => cell.trim() === '');
  const width = Math.max(HEADER.length, ...cells.map((row) => row.length));
  const parsed = (text: string): string[][] =>
    parse(text, { delimiter, bom: true, record_delimiter: lineEnd });
  const out = read('list.enriched.csv');
  expect(out.startsWith('\uFEFF')).toBe(byteOrderMark);
  const [header, ...rows] = parsed(out);
  expect(header?.slice(0, HEADER.length)).toEqual(HEADER);
  expect(header?.slice(width, width + 2)).toEqual(['brand_domain', 'brand_status']);
  expect(rows).toHaveLength(cells.length);
  let from = 0;
  for (const [at, row] of rows.entries()) {
    const own = cells[at] ?? [];
    const padded = [...own, ...Array(Math.max(0, width - own.length)).fill('')];
    expect(row.slice(0, padded.length)).toEqual(padded);
    // To the byte: what stands in the input stands in the output, each row behind the one before.
    from = out.indexOf(lineEnd + (raw[at] ?? '') + delimiter, from);
    expect(from).not.toBe(-1);
    from += 1;
    const status = row[width + 1];
    const expected = isBlank(own) ? '' : statusOf(list.rows[at]?.domain);
    const isLeft = status === 'skipped' || (status === 'failed' && isRefusal(expected));
    if (!(canSkip && isLeft && expected !== 'invalid')) expect(status).toBe(expected);
  }

  const [failuresHeader, ...failures] = parsed(read('list.failures.csv'));
  expect(failuresHeader?.slice(width)).toEqual(
    ['row', 'domain', 'status', 'reason', 'said', 'http_status', 'attempts'].map(
      (name) => `brand_${name}`,
    ),
  );
  const listed = rows.filter((_, at) => !isBlank(cells[at]));
  expect(failures.map((row) => row.slice(width, width + 3))).toEqual(
    listed.flatMap((row, at) =>
      row[width + 1] === 'found' ? [] : [[String(at + 1), row[width], row[width + 1]]],
    ),
  );
}

/** Until other domains succeed, it may be about the caller; a run that ends before asks again. */
function isRefusal(status: string | undefined): boolean {
  return status === 'rejected' || status === 'not_found';
}

/**
 * No domain that was found is asked again, and a refusal twice at most to make sure: a second time
 * where nobody else was well in between. Those that failed are, by the next run, as is what an
 * interrupted run could not tell yet.
 */
function checkCalls(api: Sandbox, callsBefore: number): void {
  for (const [domain, status] of STATUS_OF) {
    const runs = (status === 'failed' || isRefusal(status)) && callsBefore > 0 ? 2 : 1;
    // A used connection that is reset is tried again on another, and there are two of them at most.
    const requests = runs * (domain === RESET || status === 'rejected' ? 3 : 1);
    expect(api.callsOf(domain).calls).toBeLessThanOrEqual(requests);
  }
}
