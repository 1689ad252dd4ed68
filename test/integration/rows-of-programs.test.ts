import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { type EnrichOptions, enrich, enrichRows, plan } from '../../src/index.ts';
import { type RunEvent } from '../../src/watch/events.ts';
import { openApi } from './support/api.ts';
import { shippedFolder } from './support/build.ts';
import { summaryOf } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { findMaterial } from './support/material.ts';
import { enrichHere, runHere } from './support/program.ts';
import { openSmallDisk } from './support/small-disk.ts';
import { cellsOf, column, domains, listOf, rowsOf } from './support/tables.ts';

/** Options for a run that leaves everything in one folder. */
function optionsIn(folder: Folder, url = 'http://127.0.0.1:9'): Omit<EnrichOptions, 'input'> {
  const [out, failures] = [folder.at('out.jsonl'), folder.at('failures.jsonl')];
  return { baseUrl: url, store: folder.at('.brandfill'), out, failures };
}

function withoutFiles(options: Omit<EnrichOptions, 'input'>): Omit<EnrichOptions, 'input'> {
  const { out: _, failures: __, ...others } = options;
  return others;
}

/** Takes all rows, and the summary. */
async function takeAll(rows: ReturnType<typeof enrichRows>) {
  const taken: object[] = [];
  for (;;) {
    const next = await rows.next();
    if (next.done) return { rows: taken, summary: next.value };
    taken.push(next.value);
  }
}

describe('rows of a program', () => {
  it('may be none', async () => {
    const folder = openFolder();
    const options = optionsIn(folder);
    const nothing = { rows: 0, uniqueDomains: 0, lookups: 0 };
    const { rows, summary } = await takeAll(enrichRows({ ...withoutFiles(options), input: [] }));
    expect(rows).toEqual([]);
    expect(summary).toMatchObject({ ...nothing, calls: 0, stopped: undefined });
    expect(await enrich({ ...options, input: [] })).toMatchObject({ ...nothing, calls: 0 });
    expect([folder.read('out.jsonl'), folder.read('failures.jsonl')]).toEqual(['', '']);
    expect(await plan({ ...withoutFiles(options), input: [] })).toMatchObject(nothing);
  });

  it('need none of them have the member that is named: the next ones may', async () => {
    const options = withoutFiles(optionsIn(openFolder()));
    const input = [{ name: 'Acme' }, {}];
    const named = { ...options, input, domainColumn: 'site' };
    const { rows, summary } = await takeAll(enrichRows(named));
    expect(rows).toMatchObject([
      { name: 'Acme', brand_status: 'invalid' },
      { brand_status: 'invalid' },
    ]);
    expect(summary).toMatchObject({ rows: 2, calls: 0 });
  });
});

const circle: { self?: object } = {};
circle.self = circle;

const EXPECTED = 'expected an object with members that JSON can hold';

/** As many programs have their rows. */
class Account {
  readonly #site: string;

  constructor(site: string) {
    this.#site = site;
  }

  get domain(): string {
    return this.#site;
  }
}

describe('what is no row of a program', () => {
  it.each<[string, unknown, string]>([
    ['a text', 'acme.com', `${EXPECTED}, received a text.`],
    [
      'a chunk of a file',
      Buffer.from('domain\nacme.com\n'),
      `${EXPECTED}, received an object (Buffer).`,
    ],
    ['a list', ['acme.com'], `${EXPECTED}, received a list.`],
    ['null', null, `${EXPECTED}, received null.`],
    ['a date', new Date(0), `${EXPECTED}, received an object (Date).`],
    [
      'an object that is nothing as JSON',
      { toJSON: () => undefined },
      `${EXPECTED}, received an object.`,
    ],
    [
      'a Map, of which JSON has nothing',
      new Map([['domain', 'acme.com']]),
      `${EXPECTED}, received an object (Map).`,
    ],
    [
      'an instance that has getters alone',
      new Account('acme.com'),
      `${EXPECTED}, received an object (Account).`,
    ],
    ['an object with a BigInt', { id: 7n }, 'Do not know how to serialize a BigInt.'],
    ['an object with itself in it', circle, 'Converting circular structure to JSON.'],
  ])('is refused by its number: %s', async (_, row, why) => {
    const options = withoutFiles(optionsIn(openFolder()));
    const input = [{ domain: 'acme.com' }, row as object];
    await expect(plan({ ...options, input })).rejects.toMatchObject({
      code: 'UNREADABLE_INPUT',
      message: `Cannot read row 2: ${why}`,
    });
  });
});

/** Throws at the first event of a kind, as a program with a defect does. */
function throwAt(type: RunEvent['type'], error: unknown): (event: RunEvent) => void {
  return (event) => {
    if (event.type === type) throw error;
  };
}

describe('an onEvent that throws', () => {
  const defect = new Error('a defect of the program');

  it('stops the run in order, which then rejects with what it threw', async () => {
    const folder = openFolder();
    const api = await openApi({ latencyMs: 100 });
    const rows = domains(200).map((domain) => ({ domain }));
    const options = { ...optionsIn(folder, api.url), input: rows, concurrency: 2 };
    const onEvent = throwAt('progress', defect);
    await expect(enrich({ ...options, onEvent })).rejects.toBe(defect);
    expect(api.stats().calls).toBeLessThan(200);
    expect(folder.read('out.jsonl').trimEnd().split('\n')).toHaveLength(200);
  });

  it('may do so in a promise, and over rows', async () => {
    const api = await openApi({ latencyMs: 100 });
    const options = withoutFiles(optionsIn(openFolder(), api.url));
    const input = domains(200).map((domain) => ({ domain }));
    const onEvent = ({ type }: RunEvent): unknown =>
      type === 'progress' ? Promise.reject(defect) : undefined;
    const rows = enrichRows({ ...options, input, concurrency: 2, onEvent });
    await expect(takeAll(rows)).rejects.toBe(defect);
    expect(api.stats().calls).toBeLessThan(200);
  });

  it('ends a run before its first call, and a plan', async () => {
    const api = await openApi();
    const options = { ...optionsIn(openFolder(), api.url), input: [{ domain: 'acme.com' }] };
    const onEvent = throwAt('planned', defect);
    await expect(enrich({ ...options, onEvent })).rejects.toBe(defect);
    await expect(plan({ ...withoutFiles(options), input: options.input, onEvent })).rejects.toBe(
      defect,
    );
    expect(api.stats().calls).toBe(0);
  });
});

const runFile = promisify(execFile);

/** Runs a program that has all of the library as `brandfill`, and gives what it prints. */
async function runProgram(code: string, env: Readonly<Record<string, string>>): Promise<string> {
  const library = pathToFileURL(join(shippedFolder(), 'index.js')).href;
  const whole = `import * as brandfill from '${library}';\n${code}`;
  const args = ['--input-type=module', '-e', whole];
  return (await runFile(process.execPath, args, { env: { ...process.env, ...env } })).stdout;
}

describe('a program that uses the library', () => {
  it('goes on when the disk of the store fills up', async ({ skip }) => {
    const disk = openSmallDisk(6 * 1024 * 1024);
    if (!disk) return skip('a full disk, because no small disk can be mounted');
    const api = await openApi({
      respond: (domain) => ({ body: { domain, text: 'x'.repeat(20_000) } }),
    });
    const printed = await runProgram(
      `const { API: baseUrl, STORE: store } = process.env;
       const input = Array.from({ length: 1000 }, (_, at) => ({ domain: \`company-\${at}.com\` }));
       const counts = { found: 0, unusable_store: 0 };
       for await (const row of brandfill.enrichRows({ input, baseUrl, store })) {
         counts[row.brand_status === 'found' ? 'found' : row.brand_reason] += 1;
       }
       console.log(counts.found + counts.unusable_store, counts.found > 0, counts.unusable_store > 0);
       await new Promise((resolve) => setTimeout(resolve, 100));
       console.log('goes on');`,
      { API: api.url, STORE: disk.at('store') },
    );
    expect(printed).toBe('1000 true true\ngoes on\n');
  });
});

const TEN_THOUSAND = findMaterial('opendns-public-domain-lists', 'opendns-random-domains.txt');
const COMPANIES = findMaterial('fortune500', 'fortune500_policy_urls.csv');

describe.skipIf(!TEN_THOUSAND)('three thousand real domains', () => {
  it('come out in their order, each asked for once, and cost nothing the second time', async () => {
    const folder = openFolder();
    const names = readFileSync(TEN_THOUSAND ?? '', 'utf8')
      .split(/\r?\n/)
      .slice(0, 3_000);
    folder.write('list.csv', listOf(names));
    const api = await openApi({ notFound: 0.1 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '64'];
    const first = await runHere(args, { cwd: folder.path });
    expect(first.code).toBe(0);
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'domain')).toEqual(names);
    const { statuses, rows: count, uniqueDomains, calls } = summaryOf(first);
    expect(count).toBe(3_000);
    expect(statuses.invalid).toBeLessThan(100);
    expect(statuses.found + statuses.not_found + statuses.rejected + statuses.invalid).toBe(3_000);
    expect(calls).toBe(uniqueDomains);
    expect(api.stats().domains.mostCalls).toBe(1);
    expect(rowsOf(folder.read('list.failures.csv'))).toHaveLength(3_000 - statuses.found);

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
    const ended = await enrichHere(folder, api.url, '--json');
    expect(ended.stderr).toContain("in column 'website'");
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
