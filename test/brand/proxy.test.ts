import { describe, expect, it } from 'vitest';
import { findProxy } from '../../src/brand/proxy.ts';
import { openApi } from '../integration/support/api.ts';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { UNKNOWN_HOST, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

const ONE = 'http://one.example:3128';
const OTHER = 'http://other.example:3128';

describe('the proxy on the way to an API', () => {
  it.each<[origin: string, env: Record<string, string>, variable: string | undefined]>([
    ['http://a.example', { HTTP_PROXY: ONE }, 'HTTP_PROXY'],
    ['http://a.example', { http_proxy: ONE, HTTP_PROXY: OTHER }, 'http_proxy'],
    ['http://a.example', { http_proxy: '', HTTP_PROXY: ONE }, undefined],
    ['http://a.example', { HTTPS_PROXY: ONE }, undefined],
    ['https://a.example', { HTTPS_PROXY: ONE, HTTP_PROXY: OTHER }, 'HTTPS_PROXY'],
    ['https://a.example', { https_proxy: ONE, HTTPS_PROXY: OTHER }, 'https_proxy'],
    ['https://a.example', { HTTP_PROXY: ONE }, 'HTTP_PROXY'],
    ['https://a.example', {}, undefined],
  ])('to %s with %j is that of %s', (origin, env, variable) => {
    expect(findProxy(origin, env)?.variable).toBe(variable);
    const named = variable === undefined ? undefined : new URL(ONE).host;
    expect(findProxy(origin, env)?.url.host).toBe(named);
  });

  it.each<[list: string, isUsed: boolean]>([
    ['', true],
    ['*', false],
    ['API.Example', false],
    ['*.example', false],
    ['api.example:80', true],
    ['other.example api.example', false],
    ['i.example', true],
    ['v2.api.example', true],
  ])('is used where NO_PROXY is %j: %s', (list, isUsed) => {
    for (const name of ['NO_PROXY', 'no_proxy']) {
      const env = { HTTPS_PROXY: ONE, [name]: list };
      expect(findProxy('https://api.example', env) !== undefined).toBe(isUsed);
    }
  });

  it.each(['one.example:3128', 'ftp://one.example', 'http://a:%zz@b.example'])(
    'cannot be %s, and a sentence says whose fault that is',
    (given) => {
      expect(() => findProxy('https://a.example', { HTTPS_PROXY: given })).toThrow(
        'Cannot use the proxy that HTTPS_PROXY names: expected a URL such as http://proxy.example:3128.',
      );
    },
  );

  it('cannot be one for SOCKS', () => {
    expect(() => findProxy('http://a.example', { http_proxy: 'SOCKS5H://one.example' })).toThrow(
      'Cannot use the proxy that http_proxy names: it is for SOCKS, and calls go through HTTP proxies only; expected a URL such as http://proxy.example:3128.',
    );
  });

  it.each(['http://s3cret:12/pass@one.example:3128', 'http://user:s3cret＠one.example:3128'])(
    'is refused, and nothing of it repeated, when a login runs into the host: %s',
    (url) => {
      const find = (): unknown => findProxy('http://api.example', { HTTP_PROXY: url });
      expect(find).toThrow('Cannot use the proxy that HTTP_PROXY names');
      expect(find).not.toThrow(/s3cret/);
    },
  );
});

describe('a proxy', () => {
  it.each([
    ['wants a password', '407 Proxy Authentication Required', 'away', 'proxy_407'],
    ['does not let the API through', '403 Forbidden', 'away', 'proxy_403'],
    ['does not reach the API', '502 Bad Gateway', 'machine', 'proxy_502'],
  ])('that %s is told from an API that refuses', async (_, status, kind, reason) => {
    const proxy = await useConnectProxy();
    proxy.reply = `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`;
    const { ask } = useClient('http://api.invalid', { proxies: { http_proxy: proxy.url } });
    expect(await ask()).toMatchObject({ kind, httpStatus: undefined, reason });
    expect(proxy.asked).toEqual(['api.invalid:80']);
  });

  it.each([
    ['is down', 'http://127.0.0.1:9', 'machine', 'proxy_connection_refused'],
    ['has a name that is not known', `http://${UNKNOWN_HOST}:3128`, 'away', 'proxy_dns_failure'],
  ])('that %s is told from an API that is', async (_, http_proxy, kind, reason) => {
    const { ask } = useClient('http://api.invalid', { proxies: { http_proxy } });
    expect(await ask()).toMatchObject({ kind, reason });
  });

  it('that speaks no TLS is told from an API that does not', async () => {
    const refuse = 'HTTP/1.1 400 Bad Request\r\n\r\n';
    const { port } = await useTcpServer((socket) => socket.write(refuse));
    const proxies = { http_proxy: `https://localhost:${port}` };
    const { ask } = useClient('http://api.invalid', { proxies });
    expect(await ask()).toMatchObject({ kind: 'away', reason: 'proxy_tls_failure' });
  });

  it('that says nothing is asked once for each call', async () => {
    const proxy = await useTcpServer((socket) => socket.end());
    const { ask } = useClient('http://api.invalid', { proxies: { http_proxy: proxy.url } });
    expect(await ask()).toMatchObject({ kind: 'machine', reason: 'proxy_connection_reset' });
    expect(proxy.connections()).toBe(1);
  });

  it('that made no tunnel for a while is of use again soon after', async () => {
    const { url } = await openApi();
    const proxy = await useConnectProxy();
    const tunnel = proxy.reply;
    proxy.reply = '';
    const options = { connections: 2, timeoutMs: 300, proxies: { http_proxy: proxy.url } };
    const { ask } = useClient(url, options);
    expect(await Promise.all([ask(), ask()])).toMatchObject([
      { kind: 'away', reason: 'timeout' },
      { kind: 'away', reason: 'timeout' },
    ]);
    proxy.reply = tunnel;
    await expect.poll(async () => (await ask()).kind, { timeout: 10_000 }).toBe('found');
  });
});
