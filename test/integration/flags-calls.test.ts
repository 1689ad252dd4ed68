import { describe, expect, it } from 'vitest';
import { openApi, openScripted, openServer } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { column, domains, listOf, rowsOf } from './support/tables.ts';

describe('a flag of enrich', () => {
  it('--base-url keeps its path, and each call asks for one domain', async () => {
    const folder = openList();
    const server = await openServer();
    await runHere(['enrich', 'list.csv', '--base-url', `${server.url}/api/eu/`], {
      cwd: folder.path,
    });
    expect(server.requests.map(({ url }) => url ?? '').sort()).toEqual([
      '/api/eu/v1/brand?domain=acme.com',
      '/api/eu/v1/brand?domain=bolt.com',
    ]);
  });

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

  it('--auth query:NAME and --api-key-file send what the file holds, line end left out', async () => {
    const folder = openList();
    folder.write('key.txt', 's3cret value\n');
    const server = await openServer();
    await runHere(
      ['enrich', 'list.csv', '--base-url', server.url, '--auth', 'query:key'].concat([
        '--api-key-file',
        'key.txt',
      ]),
      { cwd: folder.path },
    );
    expect(server.requests[0]?.url).toBe('/v1/brand?domain=acme.com&key=s3cret%20value');
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
    const folder = openList(listOf(domains(40)));
    const api = await openApi({ latencyMs: 20 });
    await runHere(['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '3'], {
      cwd: folder.path,
    });
    expect(api.stats().concurrency.highest).toBe(3);
    expect(api.stats().calls).toBe(40);
  });

  it('--rate is never exceeded', async () => {
    const folder = openList(listOf(domains(12)));
    const arrivals: number[] = [];
    const api = await openApi({
      respond: (domain) => {
        arrivals.push(performance.now());
        return { body: { domain } };
      },
    });
    await runHere(['enrich', 'list.csv', '--base-url', api.url, '--rate', '10/s'], {
      cwd: folder.path,
    });
    expect(arrivals).toHaveLength(12);
    // Sent over 1.1 s; the first may arrive late, because it opens the connection.
    expect((arrivals[11] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(850);
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
    const ended = await runHere(
      ['enrich', 'list.csv', '--base-url', api.url, '--timeout', '150ms', '--retries', '0'],
      { cwd: folder.path },
    );
    expect(ended.code).toBe(3);
    expect(column(rowsOf(folder.read('list.failures.csv')), 'brand_reason')).toEqual(['timeout']);
  });

  it('--max-calls leaves the rest skipped, and the next run takes it up', async () => {
    const folder = openList(listOf(domains(30)));
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

  it('--max-calls of exactly as many as are needed ends with 0', async () => {
    const folder = openList(listOf(domains(5)));
    const api = await openScripted({});
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url, '--max-calls', '5'], {
      cwd: folder.path,
    });
    expect(ended.code).toBe(0);
  });
});
