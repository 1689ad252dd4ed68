import { describe, expect, it } from 'vitest';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { openApi, openServer } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { openList } from './support/lists.ts';
import { enrichHere, runHere } from './support/program.ts';
import { domains, listOf } from './support/tables.ts';

const PAGE = '<!doctype html><title>Welcome</title>';

describe('a base URL that is wrong', () => {
  it.each([
    ['404 with a page', 404, 'text/html', /404 with a page.*--base-url/],
    ['400 with a page', 400, 'text/html', /400 with a page.*--base-url.*https/],
  ])('that answers %s costs five calls and keeps nothing', async (_, status, type, said) => {
    const folder = openList(300);
    folder.write('list.enriched.csv', 'as it was');
    const wrong = await openServer((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(PAGE);
    });
    const ended = await enrichHere(folder, wrong.url, '--json');
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(said);
    expect(wrong.requests).toHaveLength(5);
    expect(folder.read('list.enriched.csv')).toBe('as it was');
    expect(summaryOf(ended)).toMatchObject({
      statuses: { skipped: 300 },
      stopped: { reason: 'misdirected' },
    });
    const { url } = await openApi();
    const mended = await enrichHere(folder, url, '--json');
    expect(summaryOf(mended).statuses.found).toBe(300);
  });

  it('that redirects to a login page costs few calls and keeps nothing', async () => {
    const folder = openList(400);
    const wrong = await openServer(({ url = '' }, response) => {
      const { pathname, search } = new URL(url, 'http://api');
      if (pathname === '/login') response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      else response.writeHead(302, { location: `/login${search}` }).end();
    });
    const flags = ['--base-url', wrong.url, '--concurrency', '10', '--json'];
    const ended = await runHere(['enrich', 'list.csv', ...flags], { cwd: folder.path });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/no JSON object.*--base-url/);
    // Each caller asks about one domain, and five of them follow the redirect.
    expect(wrong.requests.length).toBeLessThanOrEqual(10 + 5);
    expect(summaryOf(ended)).toMatchObject({
      statuses: { skipped: 400 },
      stopped: { reason: 'misdirected' },
    });
  });

  it.each([
    ['are answered with no JSON, in every run', 200, '', 3],
    ['are not known, and that is a text', 404, 'No such brand', 0],
  ])('is not suspected because of the few domains of a night that %s', async (...given) => {
    const [, status, body, code] = given;
    const folder = openList(12);
    const odd = new Set(domains(19).slice(10));
    const api = await openServer(({ url = '' }, response) => {
      const domain = new URL(url, 'http://api').searchParams.get('domain') ?? '';
      const isOdd = odd.has(domain);
      response.writeHead(isOdd ? status : 200, { 'content-type': 'text/plain' });
      response.end(isOdd ? body : JSON.stringify({ name: domain }));
    });
    const night = async (): Promise<readonly [number | null, number]> => {
      const flags = ['--retries', '0', '--json'];
      const ended = await enrichHere(folder, api.url, ...flags);
      return [ended.code, summaryOf(ended).statuses.skipped];
    };
    expect(await night()).toEqual([code, 0]);
    folder.write('list.csv', listOf(domains(19)));
    expect(await night()).toEqual([code, 0]);
    expect(await night()).toEqual([code, 0]);
  });

  it('whose name nobody knows costs five calls', async () => {
    const folder = openList(50);
    const ended = await runHere(
      ['enrich', 'list.csv', '--base-url', 'http://no-such-host.invalid', '--json'],
      { cwd: folder.path },
    );
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/DNS.*--base-url/);
    expect(summaryOf(ended).calls).toBe(5);
  });

  it('is not suspected because of brands that are not known, but nothing found is no success', async () => {
    const folder = openList(50);
    const { url } = await openApi({ notFound: 1 });
    const ended = await enrichHere(folder, url, '--json');
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain('No row has an answer: 50 unknown to the API. Check --base-url');
    expect(summaryOf(ended).statuses.not_found).toBe(50);
    const again = await enrichHere(folder, url, '--json');
    expect([again.code, summaryOf(again).calls]).toEqual([0, 0]);
  });
});

describe('a proxy', () => {
  it('that lets nobody through costs five calls, and is told of without its password', async () => {
    const folder = openList(50);
    const proxy = await useConnectProxy();
    proxy.reply = 'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n';
    const ended = await run(['enrich', 'list.csv', '--base-url', 'http://api.example', '--json'], {
      cwd: folder.path,
      env: { HTTP_PROXY: proxy.url.replace('//', '//me:s3cret@') },
    });
    expect(ended.code).toBe(4);
    const { host } = new URL(proxy.url);
    expect(ended.stderr).toContain(
      `Note: Calls go through the proxy at ${host}, which HTTP_PROXY names.`,
    );
    expect(ended.stderr).toMatch(/refused by the proxy \(407\).*HTTP_PROXY/);
    expect(ended.stderr).not.toContain('s3cret');
    expect(summaryOf(ended)).toMatchObject({ calls: 5, stopped: { seen: 'proxy_407' } });
  });

  it('that is down from the beginning is not taken for the API', async () => {
    const folder = openList(30);
    const flags = ['--progress', 'none', '--max-outage', '1s', '--json'];
    const ended = await run(['enrich', 'list.csv', '--base-url', 'http://api.example', ...flags], {
      cwd: folder.path,
      env: { http_proxy: 'http://127.0.0.1:9' },
    });
    expect(ended.stderr).toMatch(
      /proxy at 127\.0\.0\.1:9 \(proxy_connection_refused\).*check http_proxy/,
    );
    expect(ended.stderr).not.toContain('--base-url');
  });
});

describe('an API that is out from the beginning', () => {
  it('is told of with its address and the reason, also without progress', async () => {
    const folder = openList(30);
    const url = 'http://127.0.0.1:9';
    const flags = ['--progress', 'none', '--max-outage', '7s', '--json'];
    const ended = await enrichHere(folder, url, ...flags);
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/127\.0\.0\.1:9 is out \(connection_refused\).*--base-url/);
    expect(ended.stderr).toMatch(/longer than --max-outage.*connection_refused/);
    expect(summaryOf(ended).stopped).toEqual({ reason: 'outage', trouble: 'connection_refused' });
  });
});

describe('--max-failed', () => {
  const flags = ['--retries', '0', '--concurrency', '4', '--json'];
  const CUT = { status: 501, body: {} };

  it('stops a run of which more fails, and a second one does not count what failed before', async () => {
    const folder = openList(600);
    const { url } = await openApi({
      respond: (domain) => (/[0-3]\.com$/.test(domain) ? CUT : undefined),
    });
    const args = ['enrich', 'list.csv', '--base-url', url, ...flags];
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('--max-failed');
    const { statuses, stopped } = summaryOf(ended);
    expect(stopped).toEqual({ reason: 'max_failed' });
    expect(statuses.failed + statuses.found).toBeLessThan(300);
    const again = await runHere([...args, '--max-failed', '100%'], { cwd: folder.path });
    expect(again.code).toBe(3);
    const third = await runHere(args, { cwd: folder.path });
    expect(third.code).toBe(3);
  });
});
