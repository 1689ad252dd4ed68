import { describe, expect, it } from 'vitest';
import type { SandboxAnswer } from '../../src/sandbox/options.ts';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { freePort } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { enrichHere, runHere, startHere, summaryOf } from './support/command.ts';
import { openList } from './support/folder.ts';

const PAGE = '<!doctype html><title>Welcome</title>';
const NO_SUCH_PAGE = { status: 404, headers: { 'content-type': 'text/html' }, body: PAGE };

describe('a base URL that is wrong', () => {
  it('costs five calls and keeps nothing', async () => {
    const folder = openList(300);
    folder.write('list.enriched.csv', 'as it was');
    const wrong = await openServer((_request, response) => {
      response.writeHead(404, { 'content-type': 'text/html' }).end(PAGE);
    });
    const ended = await enrichHere(folder, wrong.url, '--json');
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/404 with a page.*--base-url/);
    expect(wrong.requests).toHaveLength(5);
    expect(folder.read('list.enriched.csv')).toBe('as it was');
    const { statuses, stopped } = summaryOf(ended);
    expect([statuses.skipped, stopped?.reason]).toEqual([300, 'misdirected']);
    const { url } = await openApi();
    const mended = await enrichHere(folder, url, '--json');
    expect(summaryOf(mended).statuses.found).toBe(300);
  });

  it.each(['1', '256'])(
    'where nothing listens ends the run after five calls, of %s at once',
    async (concurrency) => {
      const folder = openList(300);
      const url = `http://127.0.0.1:${await freePort()}`;
      const ended = await enrichHere(folder, url, '--json', '--concurrency', concurrency);
      expect(ended.code, ended.stderr).toBe(4);
      expect(ended.stderr).toMatch(/connection was refused.*check --base-url/);
      expect(ended.stderr).not.toMatch(/429|outage/);
      const { calls, statuses, stopped } = summaryOf(ended);
      expect([calls, statuses.skipped, stopped?.reason]).toEqual([5, 300, 'misdirected']);
    },
  );

  it('is not suspected where an answer came before nothing listened: that is an outage', async () => {
    const folder = openList(300);
    const api = await openApi({ errors: 1, latencyMs: 200 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--concurrency', '1'];
    const running = startHere([...args, '--max-outage', '1s'], { cwd: folder.path });
    await expect.poll(() => api.stats().calls).toBeGreaterThan(1);
    await api.close();
    const ended = await running.ended;
    expect(ended.code).toBe(4);
    expect(summaryOf(ended).stopped).toMatchObject({ reason: 'outage' });
  });

  it('is suspected where no brand is known, unless that may be so; and nothing found is no success', async () => {
    const folder = openList(50);
    const { url } = await openApi({ notFound: 1 });
    const doubted = await enrichHere(folder, url, '--json');
    expect([doubted.code, summaryOf(doubted).calls]).toEqual([4, 5]);
    expect(doubted.stderr).toContain('knows none of the first domains (404, or no record)');
    const ended = await enrichHere(folder, url, '--json', '--max-failed', '100%');
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain('No row has an answer: check --base-url');
    expect(summaryOf(ended).statuses.not_found).toBe(50);
    const again = await enrichHere(folder, url, '--json');
    expect([again.code, summaryOf(again).calls]).toEqual([0, 0]);
  });
});

it('a proxy that lets nobody through costs five calls, and is told of without its password', async () => {
  const folder = openList(50);
  const proxy = await useConnectProxy();
  proxy.reply = 'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n';
  const args = ['enrich', 'list.csv', '--base-url', 'http://api.example', '--json'];
  const env = { HTTP_PROXY: proxy.url.replace('//', '//me:s3cret@') };
  const ended = await runHere(args, { cwd: folder.path, env });
  expect(ended.code).toBe(4);
  const { host } = new URL(proxy.url);
  expect(ended.stderr).toContain(
    `Note: Calls go through the proxy at ${host}, which HTTP_PROXY names.`,
  );
  expect(ended.stderr).toMatch(/refused by the proxy \(407\).*HTTP_PROXY/);
  expect(ended.stderr).not.toContain('s3cret');
  expect(summaryOf(ended)).toMatchObject({ calls: 5, stopped: { seen: 'proxy_407' } });
});

it('a proxy that nothing listens at costs five calls', async () => {
  const folder = openList(50);
  const args = ['enrich', 'list.csv', '--base-url', 'http://api.example', '--json'];
  const ended = await runHere(args, {
    cwd: folder.path,
    env: { HTTP_PROXY: 'http://127.0.0.1:9' },
  });
  expect(ended.code, ended.stderr).toBe(4);
  expect(ended.stderr).toMatch(/The proxy refused the connection.*HTTP_PROXY/);
  const seen = 'proxy_connection_refused';
  expect(summaryOf(ended)).toMatchObject({ calls: 5, stopped: { seen } });
});

it('--max-failed stops a run of which more fails', async () => {
  const folder = openList(600);
  const respond = (domain: string) => (/[0-3]\.com$/.test(domain) ? { status: 501 } : undefined);
  const { url } = await openApi({ respond });
  const flags = ['--retries', '0', '--concurrency', '4', '--json'];
  const ended = await enrichHere(folder, url, ...flags);
  expect(ended.code).toBe(4);
  expect(ended.stderr).toContain('--max-failed');
  const { statuses, stopped } = summaryOf(ended);
  expect(stopped).toEqual({ reason: 'max_failed' });
  expect(statuses.failed + statuses.found).toBeLessThan(300);
});

describe('a run that goes on with what an earlier one has found', () => {
  const FOUND = 40;
  const nameOf = (row: number): string => `firm-${row}.com`;

  /** A store that holds the first rows, and a list of those and of as many others. */
  async function openHalf(answerLater: (domain: string) => SandboxAnswer | undefined) {
    const rows = Array.from({ length: 2 * FOUND }, (_, row) => nameOf(row));
    const others = new Set(rows.slice(FOUND));
    let isLater = false;
    const api = await openApi({
      respond: (domain) => (isLater ? answerLater(domain) : undefined),
    });
    const folder = openList(0);
    folder.write('list.csv', `domain\n${rows.slice(0, FOUND).join('\n')}\n`);
    expect((await enrichHere(folder, api.url, '--json')).code).toBe(0);
    folder.write('list.csv', `domain\n${rows.join('\n')}\n`);
    isLater = true;
    const before = api.stats().calls;
    return { folder, api, others, callsSince: () => api.stats().calls - before };
  }

  it('asks about one of those before its first calls stop it: only domains that are refused may be left', async () => {
    const half = await openHalf((domain) =>
      half.others.has(domain) ? { status: 403 } : undefined,
    );
    const ended = await enrichHere(half.folder, half.api.url, '--json');
    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended).statuses).toMatchObject({ found: FOUND, rejected: FOUND });
    expect(half.callsSince()).toBeLessThan(2.5 * FOUND);
  });

  it('stops where those are refused, too: the credential was revoked', async () => {
    const half = await openHalf(() => ({ status: 401 }));
    const ended = await enrichHere(half.folder, half.api.url, '--json');
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('without a credential: check --auth');
    expect(half.callsSince()).toBeLessThanOrEqual(7);
    expect(summaryOf(ended).statuses).toMatchObject({ found: FOUND, skipped: FOUND });
  });

  it('waits where pages are all that comes: an address that was right is right', async () => {
    let isDown = true;
    const half = await openHalf(() => (isDown ? NO_SUCH_PAGE : undefined));
    setTimeout(() => (isDown = false), 1_500);
    const ended = await enrichHere(half.folder, half.api.url, '--json');
    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended).statuses).toMatchObject({ found: 2 * FOUND });
  });
});
