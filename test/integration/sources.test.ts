import { describe, expect, it } from 'vitest';
import type { SandboxOptions, SandboxReply } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { useDatabase } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { runHere, start, summaryOf } from './support/command.ts';
import { column, domains, type Folder, listOf, openList, rowsOf } from './support/folder.ts';

const NOBODY: SandboxReply = { status: 404, body: { error: 'no such company' } };
const numberIn = (domain: string): number => Number(/\d+/.exec(domain)?.[0]);

/**
 * Three APIs with their profiles: the first knows 60 %, the second half of the rest, the third half
 * of that.
 */
async function openThree(rows: number, latencyMs = 0) {
  let third = 0;
  const state = { outAfter: Infinity };
  const replies: Record<string, (domain: string) => SandboxReply> = {
    one: (domain) => (numberIn(domain) % 10 < 6 ? { body: { label: `1 ${domain}` } } : NOBODY),
    two: (domain) =>
      numberIn(domain) % 10 < 8 ? { body: { title: `2 ${domain}`, at: 'Oslo' } } : NOBODY,
    three: (domain) => {
      third += 1;
      if (third > state.outAfter) return { status: 503, body: { error: 'down' } };
      return numberIn(domain) % 20 < 10 ? { body: { brand: `3 ${domain}`, web: 'x' } } : NOBODY;
    },
  };
  const columns: Record<string, string> = {
    one: '{ name: label }',
    two: '{ name: title, city: at }',
    three: '{ name: brand, website: web }',
  };
  const folder = openList(rows);
  const apis: Record<string, Sandbox> = {};
  for (const [name, respond] of Object.entries(replies)) {
    const api = await openApi({ respond, latencyMs });
    apis[name] = api;
    const billing = name === 'one' ? 'billing: { unit: credits, price: 2 }\n' : '';
    folder.write(
      `${name}.yaml`,
      `request: { baseUrl: "${api.url}", auth: none }\ncolumns: ${columns[name]}\n${billing}`,
    );
  }
  const calls = (): number[] => Object.values(apis).map((api) => api.stats().calls);
  const repeated = (): number =>
    Object.values(apis).reduce((sum, api) => sum + api.stats().domains.repeated, 0);
  return { folder, state, calls, repeated };
}

const THREE = ['enrich', 'list.csv', '--api', 'one.yaml,two.yaml,three.yaml'];

/** Rows by their status and by which API they are from. */
function countsOf(folder: Folder): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rowsOf(folder.read('list.enriched.csv'))) {
    const { brand_domain: domain = '', brand_status: status, brand_source: source } = row;
    const place = ['', 'one', 'two', 'three'].indexOf(source ?? '');
    expect(row['brand_name']).toBe(place > 0 ? `${place} ${domain}` : '');
    const key = `${status} ${source}`.trim();
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const ALL = { 'found one': 600, 'found two': 200, 'found three': 100, not_found: 100 };

describe('several APIs in one run', () => {
  it('are asked in turn, each about what the one before does not know; one that is out lets the others go on', async () => {
    const { folder, state, calls } = await openThree(1_000);
    // Given a third one that is out from the middle on
    state.outAfter = 100;
    const flags = ['--max-outage', '1s', '--changes', 'changes.csv', '--json'];
    const first = await runHere([...THREE, ...flags], { cwd: folder.path });
    // Then each row has the answer of the first that knew it, and the exit code says that one
    // stopped
    expect(first.code, first.stderr).toBe(4);
    const counts = countsOf(folder);
    expect(counts).toMatchObject({ 'found one': 600, 'found two': 200 });
    expect((counts['found three'] ?? 0) + (counts['not_found'] ?? 0)).toBeGreaterThan(50);
    expect(counts['skipped']).toBeGreaterThan(50);
    expect(calls().slice(0, 2)).toEqual([1_000, 400]);
    expect(first.stderr).toContain('at most 3,000 to make');
    expect(first.stderr).toContain('one: 600 of 1,000 found; 1,000 calls; billed 1,200 credits');
    expect(summaryOf(first)).toMatchObject({
      stopped: { reason: 'outage', source: 'three' },
      sources: [
        { name: 'one', found: 600, calls: 1_000, bill: { units: 1_200, unit: 'credits' } },
        { name: 'two', found: 200, calls: 400 },
        { name: 'three', stopped: { reason: 'outage' } },
      ],
    });
    const skipped = rowsOf(folder.read('list.failures.csv')).find(
      (row) => row['brand_status'] === 'skipped',
    );
    expect(skipped).toMatchObject({
      brand_reason: 'http_503',
      brand_sources: 'one not_found http_404; two not_found http_404',
    });
    // And the next night asks only the third, about what is left
    state.outAfter = Infinity;
    const second = await runHere([...THREE, ...flags], { cwd: folder.path });
    expect([second.code, countsOf(folder)], second.stderr).toEqual([0, ALL]);
    expect(calls().slice(0, 2)).toEqual([1_000, 400]);
    // And the one after that asks nobody, and has no news
    const before = calls();
    const third = await runHere([...THREE, ...flags], { cwd: folder.path });
    expect([third.code, calls(), countsOf(folder)]).toEqual([0, before, ALL]);
    expect(rowsOf(folder.read('changes.csv'))).toEqual([]);
  });

  it('go on after kill -9, within the bound of calls over all of them', async () => {
    const { folder, calls, repeated } = await openThree(200, 40);
    const bounded = [...THREE, '--max-calls', '250', '--concurrency', '4'];
    for (const until of [60, 210]) {
      const running = await start(bounded, { cwd: folder.path });
      await expect.poll(() => sumOf(calls()), { timeout: 30_000 }).toBeGreaterThan(until);
      await running.stop('SIGKILL');
    }
    const ended = await runHere(bounded, { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(4);
    expect(ended.stderr).toContain('This run was interrupted before');
    expect(sumOf(calls())).toBeLessThanOrEqual(250);
    const last = await runHere(THREE, { cwd: folder.path });
    expect([last.code, countsOf(folder)], last.stderr).toEqual([
      0,
      { 'found one': 120, 'found two': 40, 'found three': 20, not_found: 20 },
    ]);
    // Only calls that a kill met under way, or just before a commit, are made twice.
    expect(repeated()).toBeLessThanOrEqual(16);
  });

  it('have each their workers over Redis, and lose nothing by kill -9 of runs and workers', async () => {
    const { folder, calls, repeated } = await openThree(1_000, 10);
    const { url } = await useDatabase();
    const options = { cwd: folder.path, env: { BRANDFILL_QUEUE: url } };
    const work = async (name: string) => {
      const worker = await start(['worker', '--api', `${name}.yaml`], options);
      await worker.shows('Waiting for lookups');
      return worker;
    };
    const workers = [await work('one'), await work('two'), await work('three')];
    const run = [...THREE, '--workers', '0'];
    const killed = await start(run, options);
    await expect.poll(() => calls()[0], { timeout: 30_000 }).toBeGreaterThan(200);
    await Promise.all([killed.stop('SIGKILL'), workers[0]?.stop('SIGKILL')]);
    await work('one');
    const again = await start(run, options);
    await expect.poll(() => calls()[1], { timeout: 60_000 }).toBeGreaterThan(50);
    await Promise.all([again.stop('SIGKILL'), workers[1]?.stop('SIGKILL')]);
    await work('two');
    const last = await runHere(run, options);
    expect([last.code, countsOf(folder)], last.stderr).toEqual([0, ALL]);
    const before = calls();
    const night = await runHere(run, options);
    expect([night.code, countsOf(folder), calls()], night.stderr).toEqual([0, ALL, before]);
    // What the two workers had under way when they were killed.
    expect(repeated()).toBeLessThanOrEqual(2 * 256);
  });
});

describe('a row of several APIs', () => {
  /** Two APIs that know all companies by the same content, but for what a test takes away. */
  async function openTwo() {
    const state = { first: 'knows', second: 'knows' };
    const reply = (how: string, body: object): SandboxReply =>
      how === 'knows' ? { body } : how === 'fails' ? { status: 500, body: { error: 'x' } } : NOBODY;
    const one = await openApi({ respond: (domain) => reply(state.first, { name: domain }) });
    const two = await openApi({ respond: (domain) => reply(state.second, { title: domain }) });
    const folder = openList(3);
    for (const [name, url, column] of [
      ['one', one.url, 'name'],
      ['two', two.url, 'title'],
    ]) {
      folder.write(
        `${name}.yaml`,
        `request: { baseUrl: "${url}", auth: none }\ncolumns: { name: ${column} }\n`,
      );
    }
    const enrich = async (...flags: readonly string[]) =>
      await runHere(
        ['enrich', 'list.csv', '--api', 'one.yaml,two.yaml', '--max-failed', '100%', ...flags],
        { cwd: folder.path },
      );
    const rows = (name: string) => column(rowsOf(folder.read('list.enriched.csv')), name);
    return { state, folder, enrich, rows };
  }

  it('has no change where another API has the same content', async () => {
    const { state, folder, enrich, rows } = await openTwo();
    const flags = ['--changes', 'changes.csv', '--refresh'];
    await enrich(...flags);
    expect(rows('brand_source')).toEqual(['one', 'one', 'one']);
    state.first = 'not found';
    await enrich(...flags);
    expect(rows('brand_source')).toEqual(['two', 'two', 'two']);
    expect(rowsOf(folder.read('changes.csv'))).toEqual([]);
  });

  it('keeps an older answer where the API that gave it fails, and no other knows it', async () => {
    const { state, enrich, rows } = await openTwo();
    await enrich();
    Object.assign(state, { first: 'fails', second: 'not found' });
    const ended = await enrich('--refresh', '--retries', '0');
    expect(ended.code, ended.stderr).toBe(3);
    expect(rows('brand_status')).toEqual(['stale', 'stale', 'stale']);
    expect(rows('brand_name')).toEqual(['company-0.com', 'company-1.com', 'company-2.com']);
  });

  it('is counted once in a sample, whoever was asked about it', async () => {
    const { state, folder, enrich } = await openTwo();
    state.first = 'not found';
    folder.write('list.csv', listOf(domains(20)));
    const { stderr } = await enrich('--sample', '5');
    expect(stderr).toContain('10 calls for 5 domains');
    expect(stderr).toContain('15 more domains to ask');
  });

  it('fills blank cells from the columns that all have alike', async () => {
    const { state, folder, enrich } = await openTwo();
    state.first = 'not found';
    folder.write('list.csv', 'domain,Company\na.com,\nb.com,Bolt\n');
    const ended = await enrich('--fill', 'Company=name');
    expect(ended.code, ended.stderr).toBe(0);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'Company')).toEqual(['a.com', 'Bolt']);
  });
});

describe('sources of a job file', () => {
  it('have each their credential, bound, and word on when the next is asked', async () => {
    const [one, two] = [await openApi(replying('a')), await openApi(replying('b'))];
    const folder = openList(40);
    folder.write(
      'job.yaml',
      `input: list.csv
sources:
  - { baseUrl: "${one.url}", auth: bearer, apiKeyEnv: KEY_A, next: not_found }
  - { baseUrl: "${two.url}", auth: 'header:x-key', apiKeyEnv: KEY_B, maxCalls: 7, params: { lang: en } }
`,
    );
    const env = { KEY_A: 'secret-of-a', KEY_B: 'secret-of-b' };
    const ended = await runHere(['run', 'job.yaml', '--max-failed', '100%'], {
      cwd: folder.path,
      env,
    });
    expect(ended.code, ended.stderr).toBe(4);
    // Of forty the first knows ten, refuses ten, each of which is asked again once, and does not
    // know twenty. Of the last that are refused two may be asked once more, after a pause.
    expect(one.stats().calls).toBeGreaterThanOrEqual(50);
    expect(one.stats().calls).toBeLessThanOrEqual(52);
    expect(two.stats().calls).toBe(7);
    const statuses = column(rowsOf(folder.read('list.enriched.csv')), 'brand_status');
    const times = (status: string): number => statuses.filter((one) => one === status).length;
    expect(['found', 'rejected', 'skipped'].map(times)).toEqual([17, 10, 13]);
    expect(ended.stdout + ended.stderr + folder.read('list.failures.csv')).not.toMatch(/secret-of/);
  });

  it.each<[string, string, string]>([
    [
      'one API twice',
      '[{ baseUrl: "http://127.0.0.1:1" }, { baseUrl: "http://127.0.0.1:1" }]',
      'Cannot ask 127.0.0.1:1 twice',
    ],
    [
      'one credential for two hosts',
      '[{ baseUrl: "http://127.0.0.1:1", auth: bearer }, { baseUrl: "http://127.0.0.1:2", auth: bearer }]',
      'Cannot send one credential to both http://127.0.0.1:1 and http://127.0.0.1:2',
    ],
    ['no such word', '[{ baseUrl: "http://127.0.0.1:1", next: pending }]', 'next: expected'],
    [
      'a credential',
      '[{ baseUrl: "http://127.0.0.1:1", headers: { x-api-key: abcdef } }]',
      'it has a credential',
    ],
  ])('are refused with %s', async (_, sources, message) => {
    const folder = openList(2);
    folder.write('job.yaml', `input: list.csv\nsources: ${sources}\n`);
    const env = { BRANDFILL_API_KEY: 'a-common-key' };
    const ended = await runHere(['run', 'job.yaml'], { cwd: folder.path, env });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

/** Knows a quarter, refuses a quarter, and does not know the others; or knows all. */
function replying(name: 'a' | 'b'): SandboxOptions {
  const key = `secret-of-${name}`;
  return {
    auth: { key, scheme: name === 'a' ? { kind: 'bearer' } : { kind: 'header', name: 'x-key' } },
    respond: (domain) => {
      const number = numberIn(domain) % 4;
      if (name === 'b' || number === 0) return { body: { name: domain } };
      return number === 1 ? { status: 422, body: { error: `not ${domain}` } } : NOBODY;
    },
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
