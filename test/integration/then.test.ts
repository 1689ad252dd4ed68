import { describe, expect, it } from 'vitest';
import { type EnrichOptions, enrich, enrichRows, type Summary } from '../../src/index.ts';
import { playProfile } from '../../src/profile/play.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import type { Progress } from '../../src/watch/events.ts';
import { PNG } from '../logos/svgs.ts';
import { useRedis } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { run, start, summaryOf } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { column, listOf, rowsOf } from './support/tables.ts';
import { expectUsageError } from './support/usage-error.ts';

// A domain `sample-2.….com` gets the second sample of either API.
const FIRST = `
title: Acme
request: { baseUrl: "http://127.0.0.1:9", path: "/b/{domain}", auth: bearer, apiKeyEnv: ACME_KEY }
rules:
  - { when: { status: 422 }, means: rejected }
  - { when: { status: 202 }, means: pending, wait: 50ms }
billing: { unit: credits, price: 10, bills: [found] }
columns: { name: name, city: place.city }
samples:
  - { status: 200, body: { name: Example, site: example.com, place: { city: Oslo } }, means: found }
  - { status: 404, means: not_found }
  - { status: 404, means: not_found }
  - { status: 422, means: rejected }
  - { status: 202, means: pending }
  - { status: 404, means: not_found }
`;
const SECOND = `
title: Bolt
request: { baseUrl: "http://127.0.0.1:9", path: "/v9/{domain}", auth: "header:X-Key", apiKeyEnv: BOLT_KEY }
rules: [{ when: { status: 202 }, means: pending, wait: 50ms }]
data: company
billing: { unit: tokens, price: 3, bills: [found, not_found] }
columns: { name: legal_name, staff: employees }
samples:
  - { status: 200, body: { company: { legal_name: Bolt Example, site: example.com, employees: 7 } }, means: found }
  - { status: 200, body: { company: { legal_name: Bolt Example, site: example.com, employees: 7 } }, means: found }
  - { status: 404, means: not_found }
  - { status: 200, body: { company: { legal_name: Bolt Example, site: example.com, employees: 7 } }, means: found }
  - { status: 404, means: not_found }
  - { status: 202, means: pending }
`;
const KEYS = { ACME_KEY: 'key-of-acme-0123', BOLT_KEY: 'key-of-bolt-4567' };
/** How many domains of each kind there are: fewer than what speaks of a wrong credential. */
const EACH = 4;

const KEYS_OF_LIBRARY = { apiKey: KEYS.ACME_KEY, thenApiKey: KEYS.BOLT_KEY };

/** A run in this process, with all progress that it reported. */
async function watched(
  options: EnrichOptions,
): Promise<{ readonly summary: Summary; readonly seen: readonly Progress[] }> {
  const seen: Progress[] = [];
  const summary = await enrich({
    ...options,
    onEvent: (event) => {
      if (event.type === 'progress') seen.push(event);
    },
  });
  return { summary, seen };
}

interface Two {
  readonly first: Sandbox;
  readonly second: Sandbox;
  readonly folder: Folder;
  readonly args: readonly string[];
  readonly place: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
}

function kinds(each: number, ...numbers: readonly number[]): readonly string[] {
  return numbers.flatMap((kind) =>
    Array.from({ length: each }, (_, at) => `sample-${kind}.company-${at}.com`),
  );
}

async function openTwo(
  domains: readonly string[] = kinds(EACH, 1, 2, 3, 4, 5, 6),
  options: SandboxOptions = {},
): Promise<Two> {
  const folder = openFolder();
  folder.write('acme.yaml', FIRST);
  folder.write('bolt.yaml', SECOND);
  folder.write('list.csv', listOf(domains));
  const first = await openApi({
    ...options,
    api: playProfile(parseProfile('acme.yaml', FIRST)),
  });
  const second = await openApi({
    ...options,
    api: playProfile(parseProfile('bolt.yaml', SECOND)),
  });
  const of = { first: `--base-url ${first.url}`, second: `--then-base-url ${second.url}` };
  const text = `enrich list.csv --api acme.yaml ${of.first} --then bolt.yaml ${of.second}`;
  const args = text.split(' ');
  return { first, second, folder, args, place: { cwd: folder.path, env: KEYS } };
}

/** Domain, status and API of each row, by its kind. */
function outcomes(folder: Folder): Readonly<Record<string, readonly unknown[]>> {
  const rows = rowsOf(folder.read('list.enriched.csv'));
  return Object.fromEntries(
    rows.map((row) => [
      String(row['domain']).replace(/^sample-(\d).*/, '$1'),
      [row['brand_status'], row['brand_api']],
    ]),
  );
}

describe('a second API', () => {
  it('is asked what the first does not know, and the row says who answered', async () => {
    const { first, second, folder, args, place } = await openTwo();
    const flags = ['--json', '--price', '0.01', '--then-price', '0.1', '--report', 'run.json'];
    const ended = await runHere([...args, ...flags, '--report', 'run.html'], place);
    expect(ended.code, ended.stderr).toBe(0);
    expect(outcomes(folder)).toEqual({
      1: ['found', 'acme'],
      2: ['found', 'bolt'],
      3: ['not_found', 'bolt'],
      4: ['rejected', 'acme'],
      5: ['found', 'acme'],
      6: ['found', 'bolt'],
    });
    const asked = (api: Sandbox): unknown => api.stats().domains;
    expect(asked(first)).toMatchObject({ distinct: 6 * EACH });
    expect(asked(second)).toMatchObject({ distinct: 3 * EACH });
    const summary = summaryOf(ended);
    expect(summary).toMatchObject({
      statuses: { found: 4 * EACH, not_found: EACH, rejected: EACH },
      lookups: 9 * EACH,
      calls: first.stats().calls + second.stats().calls,
      apis: [
        {
          name: 'acme',
          found: 2 * EACH,
          lookups: 6 * EACH,
          calls: first.stats().calls,
          bill: { units: first.stats().charged, unit: 'credits' },
        },
        {
          name: 'bolt',
          found: 2 * EACH,
          lookups: 3 * EACH,
          calls: second.stats().calls,
          bill: { units: second.stats().charged, unit: 'tokens' },
        },
      ],
    });
    expect(summary.bill).toBeUndefined();
    expect(summary.cost).toBeCloseTo(
      first.stats().charged * 0.01 + second.stats().charged * 0.1,
      9,
    );
    expect(ended.stderr).toContain(
      `Then bolt: what the first API does not know; at most ${6 * EACH} calls`,
    );
    const rows = rowsOf(folder.read('list.enriched.csv'));
    // The columns of both profiles; each API's own expressions find the values.
    expect(Object.keys(rows[0] ?? {}).slice(4)).toEqual([
      'brand_name',
      'brand_city',
      'brand_staff',
      'brand_api',
    ]);
    expect(
      rows
        .filter((row) => row['brand_status'] === 'found')
        .map((row) => [
          row['brand_name'] !== '',
          row['brand_city'],
          row['brand_staff'],
          row['brand_api'],
        ]),
    ).toEqual(
      [1, 2, 5, 6].flatMap((kind) =>
        Array.from({ length: EACH }, () =>
          kind === 1 || kind === 5 ? [true, 'Oslo', '', 'acme'] : [true, '', '7', 'bolt'],
        ),
      ),
    );
    const failures = rowsOf(folder.read('list.failures.csv'));
    expect(column(failures, 'brand_api')).toEqual([
      ...Array(EACH).fill('bolt'),
      ...Array(EACH).fill('acme'),
    ]);
    const report = JSON.parse(folder.read('run.json')) as Record<string, unknown>;
    expect(report).toMatchObject({
      bill: null,
      cost: null,
      apis: [
        {
          name: 'acme',
          found: 2 * EACH,
          bill: { units: first.stats().charged, unit: 'credits', price: 0.01 },
        },
        { name: 'bolt', bill: { unit: 'tokens', price: 0.1 } },
      ],
    });
    const again = summaryOf(await runHere([...args, '--json'], place));
    expect(again).toMatchObject({ calls: 0, statuses: summary.statuses });
  });

  it('is asked about what the first did not know on earlier nights, and asked again when that is due', async () => {
    const { first, second, folder, args, place } = await openTwo();
    await runHere(args.slice(0, 6), place);
    expect(rowsOf(folder.read('list.enriched.csv'))[0]).not.toHaveProperty('brand_api');
    const before = first.stats().calls;
    const plan = await runHere([...args, '--dry-run'], place);
    expect(plan.stderr).toContain(`Then bolt: ${3 * EACH} domains; at most ${3 * EACH} calls`);
    const changes = ['--changes', 'changes.csv'];
    const { apis, calls } = summaryOf(await runHere([...args, ...changes, '--json'], place));
    expect([apis?.[0]?.calls, apis?.[1]?.lookups, first.stats().calls]).toEqual([
      0,
      3 * EACH,
      before,
    ]);
    expect(calls).toBe(second.stats().calls);
    expect(outcomes(folder)).toMatchObject({ 2: ['found', 'bolt'], 3: ['not_found', 'bolt'] });
    // What the second has found needs no call while it is fresh, though the first has it no longer.
    const later = [
      ...args,
      '--fresh-not-found',
      '1ms',
      '--fresh-jitter',
      '0',
      ...changes,
      '--json',
    ];
    const again = summaryOf(await runHere(later, place));
    expect(again.apis?.map(({ lookups }) => lookups)).toEqual([EACH, EACH]);
    expect(again.changes).toMatchObject({ new: 0, changed: 0 });
  });

  it('goes on in the progress where the first ended: no number falls, and all rows are told once', async () => {
    const { first, second, folder } = await openTwo(kinds(20, 1, 2, 3, 6));
    const common = { ...KEYS_OF_LIBRARY, store: folder.at('store'), out: folder.at('out.csv') };
    const options: EnrichOptions = {
      ...common,
      input: folder.at('list.csv'),
      api: folder.at('acme.yaml'),
      baseUrl: first.url,
    };
    const { summary: night } = await watched({ ...options, maxCalls: 30 });
    expect(night.statuses.skipped).toBe(50);
    const { summary, seen } = await watched({
      ...options,
      // oxlint-disable-next-line no-thenable -- a text, which nobody awaits
      then: folder.at('bolt.yaml'),
      thenBaseUrl: second.url,
    });
    const keys = ['done', 'lookups', 'calls', 'elapsedMs'] as const;
    for (const key of keys) {
      const numbers = seen.map((progress) => progress[key]);
      expect(numbers, key).toEqual(numbers.toSorted((one, other) => one - other));
    }
    const last = seen.at(-1);
    const { found, not_found, rejected, failed, pending, skipped } = summary.statuses;
    const freshFound = last?.rows?.fresh ?? 0;
    expect(last).toMatchObject({ done: last?.lookups, lookups: summary.lookups });
    expect(last?.rows).toMatchObject({ total: 80, not_found, rejected, failed, pending, skipped });
    expect((last?.rows?.found ?? 0) + freshFound).toBe(found);
    expect(last?.apis?.map(({ name, done, bill }) => [name, done, bill?.units])).toEqual(
      summary.apis?.map(({ name, lookups, bill }) => [name, lookups, bill?.units]),
    );
  });

  it('is asked about what the first refused, if told', async () => {
    const { folder, args, place } = await openTwo(kinds(1, 1, 2, 4));
    await runHere([...args, '--then-on', 'not_found,rejected'], place);
    expect(outcomes(folder)).toEqual({
      1: ['found', 'acme'],
      2: ['found', 'bolt'],
      4: ['found', 'bolt'],
    });
  });

  it('has a budget of its own, and the next run takes up what is left', async () => {
    const { first, second, folder, args, place } = await openTwo(kinds(10, 2, 3));
    const flags = [...args, '--json'];
    const one = await runHere([...flags, '--then-max-calls', '4'], place);
    expect(one.code).toBe(4);
    const { stopped, statuses, apis } = summaryOf(one);
    expect(stopped).toEqual({ reason: 'max_calls', api: 'bolt', isSecond: true });
    expect(statuses.skipped).toBe(16);
    expect(apis?.map(({ calls }) => calls)).toEqual([20, 4]);
    expect(one.stderr).toContain('bolt: All calls of --then-max-calls are made.');
    expect(column(rowsOf(folder.read('list.failures.csv')), 'brand_reason')).toContain('max_calls');
    const two = await runHere([...flags, '--then-max-cost', '20'], place);
    expect(summaryOf(two).stopped).toEqual({ reason: 'max_cost', api: 'bolt', isSecond: true });
    expect(second.stats().charged).toBe(4 * 3 + 18);
    const three = await runHere([...args, '--json'], place);
    expect(three.code, three.stderr).toBe(0);
    expect(first.stats().domains).toMatchObject({ distinct: 20, mostCalls: 1 });
    expect(second.stats().domains).toMatchObject({ distinct: 20, mostCalls: 1 });
  });

  it('is asked although the budget of the first is used up', async () => {
    const { second, args, place } = await openTwo(kinds(10, 2));
    const ended = await runHere([...args, '--max-calls', '4', '--json'], place);
    const { stopped, statuses } = summaryOf(ended);
    expect([stopped, statuses.found, statuses.skipped]).toEqual([
      { reason: 'max_calls', api: 'acme' },
      4,
      6,
    ]);
    expect(second.stats().calls).toBe(4);
  });

  it('gets the credential of its own, and neither that of the first nor its parameters', async () => {
    const folder = openFolder();
    const [one, other] = [
      await openServer((_, response) => response.writeHead(404).end('{"error":"unknown"}')),
      await openServer((_, response) => response.end('{"company":{"site":"a.com"}}')),
    ];
    folder.write('acme.yaml', FIRST.replace(/samples:[^]*/, ''));
    folder.write('bolt.yaml', SECOND.replace(/samples:[^]*/, ''));
    folder.write(
      'bare.yaml',
      SECOND.replace(', apiKeyEnv: BOLT_KEY', '').replace(/samples:[^]*/, ''),
    );
    folder.write('list.csv', listOf(['a.com']));
    const options = `--api acme.yaml --base-url ${one.url} --param lang=en --then-base-url ${other.url}`;
    const args = ['enrich', 'list.csv', '--refresh', ...options.split(' ')];
    const env = { ...KEYS, BRANDFILL_API_KEY: 'another-key-89', BRANDFILL_THEN: 'bolt.yaml' };
    await runHere(args, { cwd: folder.path, env });
    await runHere([...args, '--then', 'bare.yaml'], {
      cwd: folder.path,
      env: { ...env, BRANDFILL_THEN_API_KEY: 'key-of-then-99' },
    });
    const sent = ({ requests }: typeof one): unknown =>
      requests.map(({ url, headers }) => [url, headers.authorization, headers['x-key']]);
    expect(sent(one)).toEqual(
      [1, 2].map(() => ['/b/a.com?lang=en', 'Bearer key-of-acme-0123', undefined]),
    );
    expect(sent(other)).toEqual([
      ['/v9/a.com', undefined, 'key-of-bolt-4567'],
      ['/v9/a.com', undefined, 'key-of-then-99'],
    ]);
    expectUsageError(
      await runHere([...args, '--then', 'bare.yaml'], { cwd: folder.path, env }),
      /Cannot call Bolt without a credential: set BRANDFILL_THEN_API_KEY, or give --then-api-key-file\./,
    );
  });

  it('keeps its older answers in rows while it is out', async () => {
    const { folder, args, place } = await openTwo(kinds(2, 1, 2));
    await runHere(args, place);
    const out = args.map((arg) => (arg === args.at(-1) ? 'http://127.0.0.1:9' : arg));
    const store = ['--then-max-calls', '1', '--fresh', '1ms', '--fresh-not-found', '1ms'];
    const night = [
      ...out,
      ...store,
      '--fresh-jitter',
      '0',
      '--retries',
      '0',
      '--max-outage',
      '1ms',
    ];
    await runHere(night, place);
    // Another address is another API: nothing of it is known.
    expect(outcomes(folder)[2]?.[0]).not.toBe('found');
    const late = [...args, '--fresh', '1ms', '--fresh-jitter', '0', '--then-max-calls', '1'];
    await runHere(late, place);
    const rows = rowsOf(folder.read('list.enriched.csv')).slice(2);
    expect(rows.map((row) => [row['brand_status'], row['brand_staff'], row['brand_api']])).toEqual(
      expect.arrayContaining([
        ['stale', '7', 'bolt'],
        ['found', '7', 'bolt'],
      ]),
    );
  });

  it.each([
    [
      ['--then-max-calls', '5'],
      /Cannot use --then-max-calls without a second API: give --then too/,
    ],
    [['--then', 'acme.yaml'], /Cannot use --then: it asks the same as the first API/],
    [
      ['--then', 'bolt.yaml', '--then-on', 'failed'],
      /Cannot use --then-on: expected not_found, rejected or both, received 'failed'/,
    ],
    [
      ['--then', 'plain.yaml', '--then-max-cost', '5'],
      /Cannot hold --then-max-cost without a profile that says what the API bills: give --then one/,
    ],
  ])('is refused where it makes no sense: %j', async (flags, expected) => {
    const { folder, place } = await openTwo(['a.com']);
    folder.write('plain.yaml', 'title: Plain\nrequest: { baseUrl: "http://127.0.0.1:9" }\n');
    expectUsageError(
      await runHere(['enrich', 'list.csv', '--api', 'acme.yaml', ...flags], place),
      expected,
    );
  });

  it('stands in a job file and in the library', async () => {
    const { first, second, folder, place } = await openTwo(kinds(1, 1, 2, 3));
    folder.write(
      'job.yaml',
      `input: list.csv\napi: acme.yaml\nbaseUrl: ${first.url}\nthen: bolt.yaml\nthenBaseUrl: ${second.url}\nthenOn: [not_found]\nthenMaxCalls: 5\n`,
    );
    const ended = await runHere(['run', 'job.yaml'], place);
    expect(ended.code, ended.stderr).toBe(0);
    expect(outcomes(folder)).toMatchObject({ 2: ['found', 'bolt'], 3: ['not_found', 'bolt'] });
    const rows: unknown[] = [];
    const options = {
      input: [{ domain: 'sample-2.acme.com' }],
      api: folder.at('acme.yaml'),
      ...KEYS_OF_LIBRARY,
      baseUrl: first.url,
      // oxlint-disable-next-line no-thenable -- a text, which nobody awaits
      then: folder.at('bolt.yaml'),
      thenBaseUrl: second.url,
      store: folder.at('other'),
    };
    for await (const row of enrichRows(options)) rows.push([row['brand_name'], row['brand_api']]);
    expect(rows).toEqual([['Bolt Sample-2', 'bolt']]);
  });

  it('has its logos saved, too', async () => {
    const folder = openFolder();
    const first = await openServer((_, response) => response.writeHead(404).end('{"no":1}'));
    const pictures = await openServer((_, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(PNG),
    );
    const second = await openServer(({ url = '' }, response) =>
      response.end(JSON.stringify({ site: url.slice(4), icon: `${pictures.url}${url}.png` })),
    );
    for (const [name, { url }] of [
      ['one', first],
      ['two', second],
    ] as const) {
      const request = `request: { baseUrl: "${url}", path: "/b/{domain}" }`;
      folder.write(`${name}.yaml`, `title: ${name}\n${request}\n`);
    }
    folder.write('list.csv', listOf(['a.com', 'b.com']));
    const allowed = ['--logo-field', 'icon', '--logo-allow', new URL(pictures.url).host];
    const args = ['enrich', 'list.csv', '--api', 'one.yaml', '--then', 'two.yaml'];
    for (const saved of [2, 0]) {
      const ended = await runHere([...args, '--logos', 'logos', ...allowed, '--json'], {
        cwd: folder.path,
      });
      expect(summaryOf(ended).logos, ended.stderr).toMatchObject({ saved, kept: 2 - saved });
    }
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(rows.map((row) => [row['brand_api'], row['brand_logo_file']])).toEqual([
      ['two', 'logos/a.com.png'],
      ['two', 'logos/b.com.png'],
    ]);
  });

  it('is asked about a sample, too, before the rest', async () => {
    const { first, second, args, place } = await openTwo(kinds(10, 1, 2, 3));
    const ended = await runHere([...args, '--sample', '6', '--json'], place);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toMatch(
      /Sample: 6 of 30 domains, 10 calls\n {2}acme: 6 calls, billed 20 credits\n {2}bolt: 4 calls, billed 12 tokens/,
    );
    expect(ended.stderr).toContain(
      'The other 24 domains would take about 24 calls and 80 credits, and 16 calls and 48 tokens at bolt, if they go like these.',
    );
    const { statuses, apis } = summaryOf(ended);
    expect(statuses).toMatchObject({ found: 20, not_found: 10, skipped: 0 });
    expect(apis?.map(({ bill }) => bill?.units)).toEqual([
      first.stats().charged,
      second.stats().charged,
    ]);
  });

  it('has its rows merged into an earlier output, from a failures file that names APIs or not', async () => {
    for (const [earlier, later] of [
      [6, undefined],
      [undefined, 6],
      [undefined, undefined],
    ]) {
      const { folder, args, place } = await openTwo(kinds(2, 1, 2, 3));
      await runHere(args.slice(0, earlier), place);
      const merge = ['enrich', 'list.failures.csv', ...args.slice(2, later)];
      const ended = await runHere([...merge, '--merge', 'list.enriched.csv'], place);
      expect([0, 3], ended.stderr).toContain(ended.code);
      const rows = rowsOf(folder.read('list.enriched.csv'));
      expect(column(rows, 'brand_status').slice(0, 2)).toEqual(['found', 'found']);
      const left = rowsOf(folder.read('list.failures.csv'));
      expect(new Set(column(left, 'brand_status'))).toEqual(new Set(['not_found']));
      expect(Object.keys(left[0] ?? {}).includes('brand_api')).toBe(earlier === undefined);
    }
  });
});

describe('kill -9', () => {
  it('while the second API is asked: nothing that was stored is paid twice', async () => {
    const two = await openTwo(kinds(100, 2, 3), { latencyMs: 20 });
    const { first, second, folder, args, place } = two;
    const flags = [...args, '--concurrency', '4', '--json'];
    const running = await start(flags, place);
    await expect.poll(() => second.stats().calls).toBeGreaterThan(80);
    running.process.kill('SIGKILL');
    await running.ended;
    const before = [first.stats(), second.stats()];
    const ended = await run(flags, place);
    expect(ended.code, ended.stderr).toBe(0);
    const after = [first.stats(), second.stats()];
    expect(summaryOf(ended).apis?.map(({ bill, calls }) => [bill?.units, calls])).toEqual(
      after.map(({ charged, calls }, at) => [
        charged - (before[at]?.charged ?? 0),
        calls - (before[at]?.calls ?? 0),
      ]),
    );
    // Calls under way, and answers of the last hundredths of a second, may be made again.
    for (const { domains, calls } of after) {
      expect(domains).toMatchObject({ distinct: 200 });
      expect(calls).toBeLessThan(200 + 40);
    }
    expect(outcomes(folder)).toEqual({ 2: ['found', 'bolt'], 3: ['not_found', 'bolt'] });
  });
});

describe('over Redis', () => {
  it('a run that makes lookups itself asks both, each within its own bounds', async () => {
    const { first, second, folder, args } = await openTwo(kinds(10, 1, 2, 3));
    const redis = await useRedis();
    const place = { cwd: folder.path, env: { ...KEYS, BRANDFILL_QUEUE: redis.url } };
    const flags = ['--max-cost', '110', '--then-max-calls', '12', '--json'];
    const ended = await run([...args, ...flags], place);
    expect(ended.code, ended.stderr).toBe(4);
    const { stopped, statuses, apis } = summaryOf(ended);
    expect(stopped).toEqual({ reason: 'max_calls', api: 'bolt', isSecond: true });
    expect(apis?.map(({ calls, bill }) => [calls, bill?.units])).toEqual([
      [30, 100],
      [12, 36],
    ]);
    expect(statuses.skipped).toBe(8);
    expect([first.stats().calls, second.stats().calls]).toEqual([30, 12]);
  });

  it('a run that is killed in the second pass finds what its workers found meanwhile', async () => {
    const two = await openTwo(kinds(100, 2, 3), { latencyMs: 10 });
    const { first, second, folder, args } = two;
    const redis = await useRedis();
    const place = { cwd: folder.path, env: { ...KEYS, BRANDFILL_QUEUE: redis.url } };
    for (const [name, { url }] of [
      ['acme', first],
      ['bolt', second],
    ] as const) {
      const flags = ['--api', `${name}.yaml`, '--base-url', url, '--concurrency', '4'];
      const worker = await start(['worker', ...flags], place);
      await worker.shows('Waiting for lookups');
    }
    const all = [...args, '--workers', '0', '--chunk', '20', '--json'];
    const running = await start(all, place);
    await expect.poll(() => second.stats().calls).toBeGreaterThan(60);
    running.process.kill('SIGKILL');
    await running.ended;
    const ended = await run(all, place);
    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended).apis?.map(({ lookups }) => lookups)[0]).toBe(0);
    for (const api of [first, second]) {
      expect(api.stats().domains).toMatchObject({ distinct: 200, mostCalls: 1 });
    }
    expect(outcomes(folder)).toEqual({ 2: ['found', 'bolt'], 3: ['not_found', 'bolt'] });
  });
});
