import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApi, openScripted, openServer } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { withoutTimes } from './support/folder.ts';
import { LIST, openList } from './support/lists.ts';
import { enrichHere, runHere } from './support/program.ts';
import { column, rowsOf } from './support/tables.ts';

describe('a flag of enrich', () => {
  it.each([
    ['none', undefined, undefined],
    ['bearer', 'authorization', 'Bearer k3y'],
    ['basic', 'authorization', `Basic ${Buffer.from('k3y:').toString('base64')}`],
    ['header:X-Api-Key', 'x-api-key', 'k3y'],
  ])('--auth %s sends the credential in its place', async (auth, name, value) => {
    const folder = openList();
    const server = await openServer();
    const ended = await runHere(['enrich', 'list.csv', '--base-url', server.url, '--auth', auth], {
      cwd: folder.path,
      env: { BRANDFILL_API_KEY: 'k3y' },
    });
    const { headers, url } = server.requests[0] ?? {};
    expect(headers?.[name ?? 'authorization']).toBe(value);
    expect(url).not.toContain('k3y');
    expect(ended.stderr).not.toContain('k3y');
    expect(ended.code).toBe(0);
  });

  it('--param and --header go with every call, as often as given', async () => {
    const folder = openList();
    const server = await openServer();
    await runHere(
      ['enrich', 'list.csv', '--base-url', server.url]
        .concat(['--param', 'lang=de', '--param', 'q=a=b&c'])
        .concat(['--header', 'X-Team=crm', '--header', 'X-Run=1=2']),
      { cwd: folder.path },
    );
    expect(server.requests).toHaveLength(2);
    for (const { url, headers } of server.requests) {
      expect(url).toMatch(/&lang=de&q=a%3Db%26c$/);
      expect(headers).toMatchObject({ 'x-team': 'crm', 'x-run': '1=2' });
    }
  });

  it('--concurrency bounds the calls in flight', async () => {
    const folder = openList(40);
    const api = await openApi({ latencyMs: 20 });
    await enrichHere(folder, api.url, '--concurrency', '3');
    expect(api.stats().concurrency.highest).toBe(3);
    expect(api.stats().calls).toBe(40);
  });

  it('--rate is never exceeded', async () => {
    const folder = openList(21);
    const arrivals: number[] = [];
    const api = await openApi({
      respond: (domain) => {
        arrivals.push(performance.now());
        return { body: { domain } };
      },
    });
    await enrichHere(folder, api.url, '--rate', '10/s');
    expect(arrivals).toHaveLength(21);
    // Sent over 2 s; the first may arrive late, above all on a busy machine.
    expect((arrivals[20] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1_000);
  });

  it('--retries is how often a lookup is tried again', async () => {
    const folder = openList('domain\nacme.com\n');
    const api = await openScripted({ 'acme.com': { status: 500 } });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--retries'];
    expect(summaryOf(await runHere([...args, '0'], { cwd: folder.path })).calls).toBe(1);
    expect(summaryOf(await runHere([...args, '2'], { cwd: folder.path }))).toMatchObject({
      calls: 3,
      retries: 2,
    });
  });

  it('--timeout ends a call that gets no answer', async () => {
    const folder = openList('domain\nacme.com\n');
    const api = await openScripted({ 'acme.com': 'hang' });
    const ended = await enrichHere(folder, api.url, '--timeout', '150ms', '--retries', '0');
    expect(ended.code).toBe(3);
    expect(column(rowsOf(folder.read('list.failures.csv')), 'brand_reason')).toEqual(['timeout']);
  });

  it('--max-calls leaves the rest skipped, and the next run takes it up', async () => {
    const folder = openList(30);
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--max-calls', '12'];
    const first = await runHere(args, { cwd: folder.path });
    expect(first.code).toBe(4);
    expect(summaryOf(first)).toMatchObject({
      calls: 12,
      statuses: { found: 12, skipped: 18 },
      stopped: { reason: 'max_calls' },
    });
    expect(column(rowsOf(folder.read('list.failures.csv')), 'brand_reason')).toEqual(
      Array.from({ length: 18 }, () => 'max_calls'),
    );
    expect(summaryOf(await runHere(args, { cwd: folder.path })).statuses.found).toBe(24);
    const last = await runHere(args, { cwd: folder.path });
    expect(last.code).toBe(0);
    expect(summaryOf(last)).toMatchObject({ calls: 6, statuses: { found: 30, skipped: 0 } });
    expect(api.stats().domains).toMatchObject({ distinct: 30, mostCalls: 1 });
  });
});

describe('a flag of enrich', () => {
  it('--progress lines, bar and none decide what standard error shows', async () => {
    const folder = openList();
    const api = await openScripted({});
    const shown = async (style: string): Promise<string> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--fresh', '0'];
      return (await runHere([...args, '--progress', style], { cwd: folder.path })).stderr;
    };
    expect(await shown('lines')).toMatch(/^100%, 2 of 2 rows, /m);
    expect(await shown('auto')).toMatch(/^100%, 2 of 2 rows, /m);
    expect(await shown('bar')).toMatch(/^100%, 2 of 2 rows, /m); // nothing can be redrawn here
    expect(await shown('none')).not.toContain('of 2 rows, ');
  });

  it('--json puts the summary on standard output, and nothing else', async () => {
    const folder = openList('domain\nacme.com\nbolt.com\nacme.com\nn/a\n');
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const ended = await enrichHere(folder, api.url, '--json');
    expect(ended.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(summaryOf(ended)).toMatchObject({
      rows: 4,
      statuses: { found: 2, not_found: 1, rejected: 0, failed: 0, invalid: 1, skipped: 0 },
      uniqueDomains: 2,
      freshDomains: 0,
      lookups: 2,
      calls: 2,
      retries: 0,
      throttled: 0,
      elapsedMs: expect.any(Number),
      callsPerSecond: expect.any(Number),
      out: 'list.enriched.csv',
      failures: 'list.failures.csv',
    });
  });
});

describe('a flag of enrich', () => {
  it('--out and --failures name the two files', async () => {
    const folder = openList();
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const ended = await enrichHere(folder, api.url, '--out', 'o.csv', '--failures', 'f.csv');
    expect(ended.code).toBe(0);
    expect(folder.names()).toEqual(['f.csv', 'list.csv', 'o.csv']);
    expect(column(rowsOf(folder.read('o.csv')), 'brand_status')).toEqual(['found', 'not_found']);
    expect(column(rowsOf(folder.read('f.csv')), 'name')).toEqual(['Bolt']);
  });

  it('--out - puts the rows, and nothing else, on standard output', async () => {
    const folder = openList();
    const api = await openScripted({});
    const ended = await enrichHere(folder, api.url, '--out', '-');
    expect(withoutTimes(ended.stdout)).toBe(
      'name,domain,brand_domain,brand_status,brand_fetched_at,brand_name\n' +
        'Acme,acme.com,acme.com,found,<time>,Acme\nBolt,bolt.com,bolt.com,found,<time>,Bolt\n',
    );
    expect(folder.names()).toEqual(['list.csv', 'list.failures.csv']);
  });

  it('--domain-column overrules the guess', async () => {
    const folder = openList('domain,Partner Site\nacme.com,bolt.com\n');
    const api = await openScripted({});
    await enrichHere(folder, api.url, '--domain-column', 'partner site');
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_domain')).toEqual(['bolt.com']);
  });

  it('--registrable reduces a domain to its registrable part', async () => {
    const folder = openList('domain\nshop.acme.co.uk\nwww.acme.co.uk\n');
    const api = await openScripted({});
    const ended = await enrichHere(folder, api.url, '--registrable', '--json');
    expect(summaryOf(ended).calls).toBe(1);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_domain')).toEqual([
      'acme.co.uk',
      'acme.co.uk',
    ]);
  });

  it('--fields takes JMESPath with commas in functions, filters, lists and quotes', async () => {
    const folder = openList('domain\nacme.com\n');
    const api = await openScripted({
      'acme.com': {
        body: { name: 'Acme', places: [{ c: 'Oslo', k: 'x,y' }, { c: 'Rom' }], tags: ['a', 'b'] },
      },
    });
    const fields = [
      'title=name',
      "tags=join(', ', tags)",
      "place=places[?k=='x,y'].c | [0]",
      'pair=[name, tags[0]]',
      'object={a: name, b: tags}',
      'nothing=missing',
      'two=length(tags)',
    ].join(',');
    await enrichHere(folder, api.url, '--fields', fields);
    expect(rowsOf(folder.read('list.enriched.csv'))).toEqual([
      {
        domain: 'acme.com',
        brand_domain: 'acme.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        brand_title: 'Acme',
        brand_tags: 'a, b',
        brand_place: 'Oslo',
        brand_pair: 'Acme; a',
        brand_object: '{"a":"Acme","b":["a","b"]}',
        brand_nothing: '',
        brand_two: '2',
      },
    ]);
  });

  it('--prefix names the added columns, also with nothing at all', async () => {
    const folder = openList('site\nacme.com\n');
    const api = await openScripted({});
    const header = async (prefix: string): Promise<string | undefined> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--prefix', prefix, '--out', '-'];
      return (await runHere(args, { cwd: folder.path })).stdout.split('\n')[0];
    };
    expect(await header('x.')).toBe('site,x.domain,x.status,x.fetched_at,x.name');
    expect(await header('')).toBe('site,domain,status,fetched_at,name');
  });
});

describe('a flag of enrich', () => {
  it('--fresh and --fresh-not-found say when a domain is asked again', async () => {
    const folder = openList();
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const calls = async (...flags: readonly string[]): Promise<number> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', ...flags];
      return summaryOf(await runHere(args, { cwd: folder.path })).calls;
    };
    expect(await calls()).toBe(2);
    expect(await calls()).toBe(0);
    expect(await calls('--fresh', '0')).toBe(1);
    expect(api.callsOf('acme.com').calls).toBe(2);
    expect(await calls('--fresh-not-found', '0')).toBe(1);
    expect(api.callsOf('bolt.com').calls).toBe(2);
    expect(await calls('--fresh', '1ms', '--fresh-not-found', '1ms')).toBe(2);
  });

  it('--refresh asks about every domain again, once', async () => {
    const folder = openList('domain\nacme.com\nbolt.com\nacme.com\nwww.bolt.com\n');
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json'];
    await runHere(args, { cwd: folder.path });
    const again = summaryOf(await runHere([...args, '--refresh'], { cwd: folder.path }));
    expect(again).toMatchObject({ calls: 2, freshDomains: 0 });
    expect(api.callsOf('acme.com').calls).toBe(2);
    expect(summaryOf(await runHere(args, { cwd: folder.path })).calls).toBe(0);
  });

  it('--store says where answers are kept', async () => {
    const folder = openList();
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--store', 'deep/kept'];
    await runHere(args, { cwd: folder.path });
    expect(existsSync(folder.at('deep/kept/data.mdb'))).toBe(true);
    expect(existsSync(folder.at('.brandfill'))).toBe(false);
    expect(summaryOf(await runHere(args, { cwd: folder.path })).freshDomains).toBe(2);
  });

  it('--dry-run shows the plan, calls nothing and leaves nothing', async () => {
    const folder = openList('name,domain\nA,acme.com\nB,acme.com\nC,bolt.com\nD,n/a\n');
    const api = await openScripted({});
    const ended = await enrichHere(folder, api.url, '--dry-run');
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toMatch(/rows {5}4\n {2}unique {3}2 domains\n {2}invalid {2}1 row: /);
    expect(ended.stderr).toContain('  calls    2 to make');
    expect(api.stats().calls).toBe(0);
    expect(folder.names()).toEqual(['list.csv']);
    expect(existsSync(folder.at('.brandfill'))).toBe(false);
  });

  it('--dry-run counts what the store has as fresh, and --json puts the plan on standard output', async () => {
    const folder = openList();
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url];
    await runHere([...args, '--max-calls', '1'], { cwd: folder.path });
    const ended = await runHere([...args, '--dry-run', '--json'], { cwd: folder.path });
    expect(JSON.parse(ended.stdout)).toMatchObject({
      rows: 2,
      uniqueDomains: 2,
      freshDomains: 1,
      lookups: 1,
    });
    const piped = await run(['enrich', '-', '--base-url', api.url, '--dry-run', '--json'], {
      cwd: folder.path,
      stdin: LIST,
    });
    expect(piped.code).toBe(0);
    expect(JSON.parse(piped.stdout)).toMatchObject({ rows: 2, freshDomains: 1 });
  });
});
