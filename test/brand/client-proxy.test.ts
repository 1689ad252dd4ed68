import { describe, expect, it } from 'vitest';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useScriptedServer, useTcpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

describe('a proxy', () => {
  it.each([
    ['wants a password', '407 Proxy Authentication Required', 'proxy_407'],
    ['does not let the API through', '403 Forbidden', 'proxy_403'],
    ['does not reach the API', '502 Bad Gateway', 'proxy_502'],
  ])('that %s is told from an API that refuses', async (_, status, reason) => {
    const proxy = await useConnectProxy();
    proxy.reply = `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`;
    const { ask } = useClient('http://api.invalid', { proxies: { http_proxy: proxy.url } });
    expect(await ask()).toMatchObject({ kind: 'try_again', httpStatus: undefined, reason });
    expect(proxy.asked).toEqual(['api.invalid:80']);
  });

  it.each([
    ['is down', 'http://127.0.0.1:9', 'proxy_connection_refused'],
    ['has a name that is not known', 'http://nobody.invalid:3128', 'proxy_dns_failure'],
  ])('that %s is told from an API that is', async (_, http_proxy, reason) => {
    const { ask } = useClient('http://api.invalid', { proxies: { http_proxy } });
    expect(await ask()).toMatchObject({ kind: 'try_again', reason });
  });

  it('that speaks no TLS is told from an API that does not', async () => {
    const { port } = await useScriptedServer('HTTP/1.1 400 Bad Request\r\n\r\n');
    const proxies = { http_proxy: `https://localhost:${port}` };
    const { ask } = useClient('http://api.invalid', { proxies });
    expect(await ask()).toMatchObject({ kind: 'try_again', reason: 'proxy_tls_failure' });
  });

  it('that says nothing is asked once for each call', async () => {
    const proxy = await useTcpServer((socket) => socket.end());
    const { ask } = useClient('http://api.invalid', { proxies: { http_proxy: proxy.url } });
    expect(await ask()).toMatchObject({ kind: 'try_again', reason: 'proxy_connection_reset' });
    expect(proxy.connections()).toBe(1);
  });

  it('that made no tunnel for a while is of use again soon after', async () => {
    const { url } = await useSandbox();
    const proxy = await useConnectProxy();
    const tunnel = proxy.reply;
    proxy.reply = '';
    const options = { connections: 2, timeoutMs: 300, proxies: { http_proxy: proxy.url } };
    const { ask } = useClient(url, options);
    expect(await Promise.all([ask(), ask()])).toMatchObject([
      { kind: 'try_again', reason: 'timeout' },
      { kind: 'try_again', reason: 'timeout' },
    ]);
    proxy.reply = tunnel;
    await expect.poll(async () => (await ask()).kind, { timeout: 10_000 }).toBe('found');
  });
});
